"""Hypothesis strategies for JSON schemas that some value fits."""

from typing import Any

from hypothesis import strategies as st

NAMES = st.sampled_from(["city", "count", "items", "note", "unit", "a", "b_c", "größe", "x y"])


def _integers() -> st.SearchStrategy[dict[str, Any]]:
    def bounded(low: int, span: int, kinds: tuple[str, str]) -> dict[str, Any]:
        return {
            "type": "integer",
            kinds[0]: low - (kinds[0] != "minimum"),
            kinds[1]: low + span + 1,
        }

    return st.builds(
        bounded,
        st.integers(-1000, 1000),
        st.integers(0, 50),
        st.tuples(
            st.sampled_from(["minimum", "exclusiveMinimum"]),
            st.sampled_from(["maximum", "exclusiveMaximum"]),
        ),
    )


def _numbers() -> st.SearchStrategy[dict[str, Any]]:
    return st.builds(
        lambda low, span: {"type": "number", "minimum": low, "maximum": low + span},
        st.floats(-1e6, 1e6),
        st.floats(0.0, 1e3),
    )


def _strings() -> st.SearchStrategy[dict[str, Any]]:
    return st.one_of(
        st.builds(
            lambda low, span: {"type": "string", "minLength": low, "maxLength": low + span},
            st.integers(0, 60),
            st.integers(0, 30),
        ),
        st.sampled_from(
            [
                {"type": "string"},
                {"type": "string", "pattern": "^[A-Z]{2,4}-\\d{3}$"},
                {"type": "string", "pattern": "^(foo|ba[rz])+$", "maxLength": 9},
                {"pattern": "^\\w+@\\w+\\.(com|org)$"},
                {"type": "string", "format": "date"},
                {"type": "string", "format": "uuid"},
            ]
        ),
    )


def _scalars() -> st.SearchStrategy[Any]:
    return st.one_of(
        st.just(True),
        st.just({}),
        st.just({"type": "null"}),
        st.just({"type": "boolean"}),
        st.just({"type": ["integer", "null"]}),
        st.just({"type": "integer", "multipleOf": 7}),
        st.sampled_from([{"const": None}, {"const": {"a": [1]}}, {"const": "ä"}]),
        st.builds(
            lambda values: {"enum": values},
            st.lists(st.one_of(st.integers(), st.text(), st.none()), min_size=1, max_size=4),
        ),
        _integers(),
        _numbers(),
        _strings(),
    )


@st.composite
def _objects(draw: st.DrawFn, inner: st.SearchStrategy[Any]) -> dict[str, Any]:
    properties = draw(st.dictionaries(NAMES, inner, max_size=4))
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    some_required = draw(st.booleans())
    if properties and some_required:
        schema["required"] = draw(st.lists(st.sampled_from(sorted(properties)), unique=True))
    if draw(st.booleans()):
        schema["additionalProperties"] = False
    return schema


@st.composite
def _arrays(draw: st.DrawFn, inner: st.SearchStrategy[Any]) -> dict[str, Any]:
    low = draw(st.integers(0, 3))
    schema: dict[str, Any] = {"type": "array", "items": draw(inner), "minItems": low}
    if draw(st.booleans()):
        schema["maxItems"] = low + draw(st.integers(0, 3))
    return schema


def _branches(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.builds(lambda branches: {"anyOf": branches}, st.lists(inner, min_size=1, max_size=3))


def _folded(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.builds(lambda part: {"allOf": [part, {"description": "told twice"}]}, inner)


def schemas() -> st.SearchStrategy[Any]:
    """Schemas of scalars, objects, arrays, `anyOf` and `allOf`; every one has a valid value."""
    return st.recursive(
        _scalars(),
        lambda inner: st.one_of(_objects(inner), _arrays(inner), _branches(inner), _folded(inner)),
        max_leaves=8,
    )
