"""`wandb.plot`: charts that are made from tables, kept as those tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from .media import WriteFile
from .pictures import array_of
from .tables import Table

if TYPE_CHECKING:
    from numpy.typing import NDArray


class CustomChart(Table):
    """The table behind a chart, made when it is written; how it would be drawn is dropped."""

    kind = "plots"

    def __init__(self, make: Callable[[], Any], *_: Any, **__: Any) -> None:
        super().__init__()
        self._make = make

    def write(self, name: str, write_file: WriteFile) -> None:
        table = self._make()
        if not isinstance(table, Table):
            raise ValueError(f"a chart is made from a Table, not from a {type(table).__name__}")
        self.columns, self.data = table.columns, table.data
        super().write(name, write_file)


Visualize = CustomChart


def line(table: Any = None, *_: Any, **__: Any) -> CustomChart:
    return CustomChart(lambda: table)


bar = histogram = scatter = line


def plot_table(
    vega_spec_name: Any = None, data_table: Any = None, *_: Any, **__: Any
) -> CustomChart:
    return CustomChart(lambda: data_table)


custom_chart = visualize = plot_table


def line_series(
    xs: Iterable[Any] = (), ys: Iterable[Any] = (), keys: Any = None, *_: Any,
    xname: str = "x", **__: Any,
) -> CustomChart:  # fmt: skip
    """Rows of x, y and the key of each line; one list of xs serves all lines."""

    def make() -> Table:
        all_xs, all_ys = list(xs), [list(y) for y in ys]
        several = all(hasattr(x, "__len__") and not isinstance(x, str) for x in all_xs)
        names = [f"key_{number}" for number in range(len(all_ys))] if keys is None else list(keys)
        rows = [
            [x, y, name]
            for number, (name, line_ys) in enumerate(zip(names, all_ys, strict=False))
            for x, y in zip(all_xs[number] if several else all_xs, line_ys, strict=False)
        ]
        return Table([xname, "y", "key"], rows)

    return CustomChart(make)


def confusion_matrix(
    probs: Any = None, y_true: Any = None, preds: Any = None, class_names: Any = None, *_: Any,
    **__: Any,
) -> CustomChart:  # fmt: skip
    """How often each actual class was taken for each other, by class number or name."""

    def make() -> Table:
        predicted = array_of(preds) if preds is not None else array_of(probs).argmax(axis=1)
        actual = array_of(y_true)
        classes = sorted({*actual.tolist(), *predicted.tolist()})
        pairs = [(a, p) for a in classes for p in classes]
        counts = {(a, p): int(((actual == a) & (predicted == p)).sum()) for a, p in pairs}
        rows = [[_class(class_names, a), _class(class_names, p), n] for (a, p), n in counts.items()]
        return Table(["Actual", "Predicted", "nPredictions"], rows)

    return CustomChart(make)


def roc_curve(
    y_true: Any = None, y_probas: Any = None, labels: Any = None, *_: Any, **__: Any
) -> CustomChart:
    """False against true positive rate of each class against all others."""

    def make() -> Table:
        table = Table(["class", "fpr", "tpr"])
        for name, positive, negative in _by_threshold(y_true, y_probas, labels):
            for true, false in zip(positive, negative, strict=True):
                table.add_data(name, false / max(negative[-1], 1), true / max(positive[-1], 1))
        return table

    return CustomChart(make)


def pr_curve(
    y_true: Any = None, y_probas: Any = None, labels: Any = None, *_: Any, **__: Any
) -> CustomChart:
    """Recall against precision of each class against all others."""

    def make() -> Table:
        table = Table(["class", "recall", "precision"])
        for name, positive, negative in _by_threshold(y_true, y_probas, labels):
            for true, false in zip(positive, negative, strict=True):
                table.add_data(name, true / max(positive[-1], 1), true / max(true + false, 1))
        return table

    return CustomChart(make)


def _by_threshold(
    y_true: Any, y_probas: Any, labels: Any
) -> Iterator[tuple[Any, NDArray[Any], NDArray[Any]]]:
    """(class, true positives, false positives) of each class, while its threshold sinks."""
    actual, scores = array_of(y_true), array_of(y_probas)
    columns = scores.reshape(len(scores), -1)
    for number, column in enumerate(columns.T):
        # One column of scores is that of the last class.
        which = actual.max() if columns.shape[1] == 1 else number
        hits = actual[(-column).argsort(kind="stable")] == which
        yield _class(labels, which), hits.cumsum(), (~hits).cumsum()


def _class(names: Any, which: Any) -> Any:
    try:
        return names[int(which)] if names is not None else which
    except (IndexError, KeyError, TypeError, ValueError):
        return which
