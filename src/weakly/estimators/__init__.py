"""What estimators share: base classes, checks, class proportions, calibration, progress, whole fits."""
