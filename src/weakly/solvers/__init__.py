"""Solvers: pure functions from arrays and spaces to a :class:`SolverResult`."""

from weakly.solvers._conjugate import solve_conjugate
from weakly.solvers._direct import solve_newton, solve_ridge
from weakly.solvers._hinge import solve_hinge
from weakly.solvers._restricted import solve_restricted
from weakly.solvers._result import SolverResult
from weakly.solvers._simplex import project_simplex
from weakly.solvers._tv_prox import Edges, prox_total_variation, prox_total_variation_reference

__all__ = [
    "Edges",
    "SolverResult",
    "project_simplex",
    "prox_total_variation",
    "prox_total_variation_reference",
    "solve_conjugate",
    "solve_hinge",
    "solve_newton",
    "solve_restricted",
    "solve_ridge",
]
