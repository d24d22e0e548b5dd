"""Transformers of instances, in pipelines of bags."""

from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, column_or_1d

from weakly.estimators._base import atomic_fit
from weakly.estimators._docstrings import fill_doc
from weakly.multi_instance._forms import Form, check_labels, read_bags


def _names_its_columns(adapter):
    return hasattr(getattr(adapter, "transformer_", adapter.transformer), "get_feature_names_out")


@fill_doc
class InstanceTransformer(TransformerMixin, BaseEstimator, auto_wrap_output_keys=None):
    """A transformer of samples, such as a scaler, that acts on the instances of bags.

    Parameters
    ----------
    transformer : transformer
        What to do to the instances; it is cloned, and fitted to those of all bags together. One that looks
        at labels sees for each instance the label of its bag.

    Attributes
    ----------
    transformer_ : transformer
        The fitted transformer.

    See Also
    --------
    Bags : What comes out.

    Examples
    --------
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from weakly import BagMarginSVC, Bags, InstanceTransformer
    >>> from weakly.datasets import make_bags
    >>> data = make_bags(60, random_state=0)
    >>> model = make_pipeline(InstanceTransformer(StandardScaler()), BagMarginSVC())
    >>> scores = cross_val_score(model, Bags.from_ids(data.X, data.bags), data.bag_y, cv=3)
    >>> bool(scores.mean() > 0.8)
    True
    """

    def __init__(self, transformer):
        self.transformer = transformer

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        inner = get_tags(self.transformer)
        tags.input_tags.sparse = inner.input_tags.sparse
        tags.input_tags.allow_nan = inner.input_tags.allow_nan
        tags.target_tags.required = inner.target_tags.required
        return tags

    @atomic_fit
    def fit(self, X, y=None):
        """Fit the transformer to the instances of all bags.

        Parameters
        ----------
        %(bags)s
        y : array-like of shape (n_bags,), default=None
            Labels of the bags.

        Returns
        -------
        self
            The fitted adapter.
        """
        if isinstance(self.transformer, type) or not hasattr(self.transformer, "transform"):
            raise TypeError(
                f"transformer is {self.transformer!r}: give an object that fits and transforms instances, "
                "such as StandardScaler()."
            )
        given = self._read(X)
        bags, labels = given.bags, None
        if y is not None:
            y = column_or_1d(y)
            check_labels(given, y)
            labels = y[bags.bag_of]
        self.transformer_ = clone(self.transformer).fit(bags.rows, labels)
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.transformer_, name):
                setattr(self, name, getattr(self.transformer_, name))
        return self

    def transform(self, X):
        """Transform instances.

        Parameters
        ----------
        %(bags)s

        Returns
        -------
        Bags or matrix
            Bags of the same sizes; a matrix for a matrix, whose rows are bags of one.
        """
        check_is_fitted(self)
        given = self._read(X)
        if given.form is not Form.SINGLES and not given.bags.rows.shape[0]:
            return given.bags
        rows = self.transformer_.transform(given.bags.rows)
        return rows if given.form is Form.SINGLES else given.bags.with_rows(rows)

    def _read(self, X):
        return read_bags(X, allow_nan=get_tags(self.transformer).input_tags.allow_nan)

    def set_output(self, *, transform=None):
        """Choose what the transformer makes of instances: bags hold it as it comes.

        Parameters
        ----------
        transform : {"default", "pandas", "polars"} or None, default=None
            As in scikit-learn.

        Returns
        -------
        self
            The adapter.
        """
        for transformer in (self.transformer, getattr(self, "transformer_", None)):
            if hasattr(transformer, "set_output"):
                transformer.set_output(transform=transform)
        return self

    @available_if(_names_its_columns)
    def get_feature_names_out(self, input_features=None):
        """Names of the columns that come out, as the transformer has them.

        Parameters
        ----------
        input_features : array-like of str or None, default=None
            Names of the columns that go in.

        Returns
        -------
        ndarray of str
            The names.
        """
        return self.transformer_.get_feature_names_out(input_features)
