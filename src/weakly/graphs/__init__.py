"""Graphs over samples: neighbors, weights, Laplacians.

A :class:`Graph` is a symmetric sparse affinity without self-loops. Everything a method asks of it is
derived: Laplacians for the quadratic penalty, the incidence matrix for total variation, components for
the rows that no label reaches. An :class:`AnchorGraph` joins rows through anchors that they share, for rows
too many to be compared with each other; it has a Laplacian and components, but no edges.
"""

from weakly.graphs._anchor_map import AnchorMap
from weakly.graphs._anchors import AnchorGraph, anchor_graph
from weakly.graphs._graph import Graph, affinity_graph, neighbor_graph, radius_graph

__all__ = [
    "AnchorGraph",
    "AnchorMap",
    "Graph",
    "affinity_graph",
    "anchor_graph",
    "neighbor_graph",
    "radius_graph",
]
