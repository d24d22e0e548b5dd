"""Measurements: published tables (``papers``), speed (``speed``) and scale (``scale``)."""
