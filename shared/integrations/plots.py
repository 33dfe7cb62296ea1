"""`wandb.plot`: charts that are made from tables, kept as those tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from .media import WriteFile
from .tables import Table

if TYPE_CHECKING:
    from numpy.typing import NDArray


class CustomChart(Table):
    """The table behind a chart; how it would be drawn is dropped."""

    kind = "plots"

    def __init__(self, table: Any = None, *_: Any, **keywords: Any) -> None:
        super().__init__()
        self.table = table if isinstance(table, Table) else Table()
        self.columns, self.data = self.table.columns, self.table.data

    def write(self, name: str, write_file: WriteFile) -> None:
        self.columns, self.data = self.table.columns, self.table.data
        super().write(name, write_file)


Visualize = viz = CustomChart


def line(table: Any = None, *_: Any, **__: Any) -> CustomChart:
    return CustomChart(table)


bar = histogram = scatter = line


def plot_table(
    vega_spec_name: Any = None, data_table: Any = None, *_: Any, **__: Any
) -> CustomChart:
    return CustomChart(data_table)


custom_chart = visualize = plot_table


def line_series(
    xs: Iterable[Any] = (), ys: Iterable[Any] = (), keys: Any = None, *_: Any, **keywords: Any
) -> CustomChart:
    """Rows of x, y and the key of each line; one list of xs serves all lines."""
    xs, ys = list(xs), [list(y) for y in ys]
    several = bool(xs) and all(hasattr(x, "__len__") and not isinstance(x, str) for x in xs)
    names = list(keys) if keys is not None else [f"key_{number}" for number in range(len(ys))]
    rows = [
        [x, y, names[number] if number < len(names) else number]
        for number, line_ys in enumerate(ys)
        for x, y in zip(xs[number % len(xs)] if several else xs, line_ys, strict=False)
    ]
    return CustomChart(Table([keywords.get("xname", "x"), "y", "key"], rows))


def confusion_matrix(
    probs: Any = None, y_true: Any = None, preds: Any = None, class_names: Any = None, *_: Any,
    **__: Any,
) -> CustomChart:  # fmt: skip
    """How often each actual class was taken for each other, by class number or name."""
    import numpy as np

    predicted = np.asarray(preds) if preds is not None else np.argmax(np.asarray(probs), axis=1)
    actual = np.asarray(y_true if y_true is not None else [])
    classes = sorted({*actual.tolist(), *predicted.tolist()}, key=str)
    rows = [
        [
            _class(class_names, a),
            _class(class_names, p),
            int(np.sum((actual == a) & (predicted == p))),
        ]
        for a in classes
        for p in classes
    ]
    return CustomChart(Table(["Actual", "Predicted", "nPredictions"], rows))


def roc_curve(
    y_true: Any = None, y_probas: Any = None, labels: Any = None, *_: Any, **__: Any
) -> CustomChart:
    """False against true positive rate of each class against all others."""
    rows = []
    for name, positive, negative in _by_threshold(y_true, y_probas, labels):
        for true, false in zip(positive, negative, strict=True):
            rows.append([name, false / max(negative[-1], 1), true / max(positive[-1], 1)])
    return CustomChart(Table(["class", "fpr", "tpr"], rows))


def pr_curve(
    y_true: Any = None, y_probas: Any = None, labels: Any = None, *_: Any, **__: Any
) -> CustomChart:
    """Recall against precision of each class against all others."""
    rows = []
    for name, positive, negative in _by_threshold(y_true, y_probas, labels):
        for true, false in zip(positive, negative, strict=True):
            rows.append([name, true / max(positive[-1], 1), true / max(true + false, 1)])
    return CustomChart(Table(["class", "recall", "precision"], rows))


def _by_threshold(
    y_true: Any, y_probas: Any, labels: Any
) -> Iterator[tuple[Any, NDArray[Any], NDArray[Any]]]:
    """(class, true positives, false positives) of each class, while its threshold sinks."""
    import numpy as np

    actual, scores = np.asarray(y_true), np.asarray(y_probas, dtype=np.float64)
    columns = scores.reshape(len(scores), -1)
    classes = np.unique(actual)
    for number, column in enumerate(columns.T):
        # One column of scores is that of the last class.
        which = classes[-1] if columns.shape[1] == 1 else number
        order = np.argsort(-column, kind="stable")
        hits = actual[order] == which
        yield _class(labels, which), np.cumsum(hits), np.cumsum(~hits)


def _class(names: Any, which: Any) -> Any:
    try:
        return names[int(which)] if names is not None else which
    except (IndexError, KeyError, TypeError, ValueError):
        return which
