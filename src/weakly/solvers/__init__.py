"""Solvers: pure functions from arrays and spaces to a :class:`SolverResult`."""

from weakly.solvers._absolute import solve_absolute
from weakly.solvers._anchor_walk import AnchorWalk, solve_anchor_walk
from weakly.solvers._block_bundle import solve_block_weston_watkins
from weakly.solvers._block_charge import BlockOthers
from weakly.solvers._block_cutting_plane import solve_block_cutting_plane
from weakly.solvers._block_mixture import MixtureProblem, fit_mixture
from weakly.solvers._block_newton import BlockProblem, fit_blocks
from weakly.solvers._block_quotas import assign_block_quotas
from weakly.solvers._block_transduction import BlockTransduction, solve_block_transduction
from weakly.solvers._box_dual import solve_box_dual
from weakly.solvers._branch_and_bound import solve_branch_and_bound
from weakly.solvers._cheeger import solve_cheeger
from weakly.solvers._conjugate import solve_conjugate
from weakly.solvers._cutting_plane import solve_cutting_plane
from weakly.solvers._direct import solve_newton, solve_ridge
from weakly.solvers._diverse_density import solve_diverse_density
from weakly.solvers._exclusive import OtherRows, solve_exclusive
from weakly.solvers._group_hinge import solve_group_hinge
from weakly.solvers._hinge import solve_hinge
from weakly.solvers._hinge_dual import solve_hinge_dual
from weakly.solvers._hinge_prox import prox_hinge
from weakly.solvers._iterative_svr import solve_iterative_svr
from weakly.solvers._joint_margin import solve_joint_margin
from weakly.solvers._kernel_means import solve_kernel_means
from weakly.solvers._key_margin import solve_bag_margin, solve_instance_margin
from weakly.solvers._label_machine import KernelMachine, LabelMachine, supervised_scores
from weakly.solvers._label_sets import KeyInstances, LabelSet, SignSet
from weakly.solvers._label_walk import solve_label_walk
from weakly.solvers._label_weights import WeightedLabels, weigh_labels
from weakly.solvers._linear_machine import LinearMachine
from weakly.solvers._margin_planes import solve_margin_planes
from weakly.solvers._margin_sdp import solve_margin_sdp
from weakly.solvers._poisson import solve_poisson
from weakly.solvers._quotas import QuotaAssignment, assign_quotas
from weakly.solvers._resplit import SweepCut, diffuse_codes, resplit_pairs, sweep_cut
from weakly.solvers._restricted import solve_restricted
from weakly.solvers._result import SolverResult
from weakly.solvers._ridge_path import RidgePath, solve_ridge_path
from weakly.solvers._row_losses import TwoSided
from weakly.solvers._row_newton import RowFit, fit_rows
from weakly.solvers._simplex import project_simplex
from weakly.solvers._simplex_admm import solve_simplex
from weakly.solvers._total_variation import solve_total_variation
from weakly.solvers._transduction import Ground, Transduction
from weakly.solvers._transduction_search import solve_transduction
from weakly.solvers._tv_prox import Edges, prox_total_variation, prox_total_variation_reference
from weakly.solvers._weston_watkins import solve_weston_watkins

__all__ = [
    "AnchorWalk",
    "BlockOthers",
    "BlockProblem",
    "BlockTransduction",
    "Edges",
    "Ground",
    "KernelMachine",
    "KeyInstances",
    "LabelMachine",
    "LabelSet",
    "LinearMachine",
    "MixtureProblem",
    "OtherRows",
    "QuotaAssignment",
    "RidgePath",
    "RowFit",
    "SignSet",
    "SolverResult",
    "SweepCut",
    "Transduction",
    "TwoSided",
    "WeightedLabels",
    "assign_block_quotas",
    "assign_quotas",
    "diffuse_codes",
    "fit_blocks",
    "fit_mixture",
    "fit_rows",
    "project_simplex",
    "prox_hinge",
    "prox_total_variation",
    "prox_total_variation_reference",
    "resplit_pairs",
    "solve_absolute",
    "solve_anchor_walk",
    "solve_bag_margin",
    "solve_block_cutting_plane",
    "solve_block_transduction",
    "solve_block_weston_watkins",
    "solve_box_dual",
    "solve_branch_and_bound",
    "solve_cheeger",
    "solve_conjugate",
    "solve_cutting_plane",
    "solve_diverse_density",
    "solve_exclusive",
    "solve_group_hinge",
    "solve_hinge",
    "solve_hinge_dual",
    "solve_instance_margin",
    "solve_iterative_svr",
    "solve_joint_margin",
    "solve_kernel_means",
    "solve_label_walk",
    "solve_margin_planes",
    "solve_margin_sdp",
    "solve_newton",
    "solve_poisson",
    "solve_restricted",
    "solve_ridge",
    "solve_ridge_path",
    "solve_simplex",
    "solve_total_variation",
    "solve_transduction",
    "solve_weston_watkins",
    "supervised_scores",
    "sweep_cut",
    "weigh_labels",
]
