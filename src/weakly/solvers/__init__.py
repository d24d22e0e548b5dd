"""Solvers of more than one method: pure functions from arrays and spaces to a :class:`SolverResult`.

A solver with one user lives beside its method.
"""

from weakly.graphs._edge_list import Edges
from weakly.solvers._box_dual import solve_box_dual
from weakly.solvers._conjugate import solve_conjugate
from weakly.solvers._cutting_plane import solve_cutting_plane
from weakly.solvers._direct import solve_newton, solve_restricted, solve_ridge
from weakly.solvers._hinge import solve_hinge
from weakly.solvers._hinge_dual import solve_hinge_dual
from weakly.solvers._hinge_prox import prox_hinge
from weakly.solvers._label_machine import KernelMachine, LabelMachine
from weakly.solvers._label_walk import solve_label_walk
from weakly.solvers._label_weights import weigh_labels
from weakly.solvers._linear_machine import LinearMachine
from weakly.solvers._poisson import solve_poisson
from weakly.solvers._quotas import QuotaAssignment, assign_quotas
from weakly.solvers._result import SolverResult
from weakly.solvers._row_newton import fit_rows
from weakly.solvers._simplex import project_simplex
from weakly.solvers._tv_prox import prox_total_variation

__all__ = [
    "Edges",
    "KernelMachine",
    "LabelMachine",
    "LinearMachine",
    "QuotaAssignment",
    "SolverResult",
    "assign_quotas",
    "fit_rows",
    "project_simplex",
    "prox_hinge",
    "prox_total_variation",
    "solve_box_dual",
    "solve_conjugate",
    "solve_cutting_plane",
    "solve_hinge",
    "solve_hinge_dual",
    "solve_label_walk",
    "solve_newton",
    "solve_poisson",
    "solve_restricted",
    "solve_ridge",
    "weigh_labels",
]
