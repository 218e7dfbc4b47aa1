"""The tree of prompts: what is computed is what the prefix tree has, and every row looks at its whole prompt once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from needlework.models.local.token_tree import (
    Ids,
    Path,
    TokenChain,
    TokenRun,
    TokenTree,
    common_prefix,
    length,
    ordered,
    passes,
    path_to,
    pieces,
    tree_size,
    trunk_first,
)

# Few different ids and haystack-like beginnings, so that prompts share, contain and equal one another.
prompt_lists = st.lists(
    st.builds(
        lambda shared, own: np.array([1, 2, 1, 1, 2, 2, 1, 2][:shared] + own, np.int32),
        st.integers(0, 8),
        st.lists(st.integers(1, 3), min_size=1, max_size=8),
    ),
    min_size=1,
    max_size=8,
)


def ids(*numbers: int) -> Ids:
    return np.array(numbers, np.int32)


def read(path: Path) -> list[int]:
    return [int(each) for stretch in path for each in stretch.chain.ids[: stretch.tokens]]


def nodes(prompts: Sequence[Ids]) -> int:
    """The count by definition: different beginnings."""
    return len({tuple(prompt[:end]) for prompt in prompts for end in range(1, len(prompt) + 1)})


@given(prompt_lists)
def test_the_tree_holds_each_shared_token_once(prompts: list[Ids]) -> None:
    tree = TokenTree()
    made = []
    for each in trunk_first(prompts):
        path, chain = tree.add(prompts[each])
        assert read(path) == prompts[each].tolist()
        assert path[-1].tokens in path[-1].chain.ends
        made += [chain] if chain is not None else []
    assert tree.tokens == sum(len(chain.ids) for chain in made) == tree_size(prompts) == nodes(prompts)
    assert sorted(trunk_first(prompts)) == list(range(len(prompts)))


@given(prompt_lists, st.integers(1, 9))
def test_passes_compute_every_token_once_and_parents_first(prompts: list[Ids], size: int) -> None:
    tree = TokenTree()
    chains = [chain for prompt in prompts if (chain := tree.add(prompt)[1]) is not None]
    done: dict[TokenChain, int] = {}
    for runs in passes(chains, size):
        assert 0 < sum(run.end - run.begin for run in runs) <= size
        for run in runs:
            assert done.get(run.chain, 0) == run.begin
            done[run.chain] = run.end
            above = [(stretch.chain, stretch.tokens) for stretch in path_to(run.chain, 0)]
            assert all(done[chain] >= tokens for chain, tokens in above)
    assert sum(done.values()) == nodes(prompts)
    assert len(list(passes(chains, size))) == -(-nodes(prompts) // size)


@given(prompt_lists, st.booleans())
def test_each_row_looks_at_its_whole_prompt_once(prompts: list[Ids], cut: bool) -> None:
    tree = TokenTree()
    paths = {each: tree.add(prompts[each])[0] for each in trunk_first(prompts)}
    rows = [paths[each] for each in ordered(prompts)]
    found = pieces([(row, row + 1, path) for row, path in enumerate(rows)], cut)
    for row, path in enumerate(rows):
        mine = sorted((piece for piece in found if piece.first <= row < piece.last), key=lambda piece: piece.level)
        assert [piece.level for piece in mine] == list(range(len(mine)))
        seen = [int(token) for piece in mine for token in piece.chain.ids[piece.begin : piece.end]]
        assert seen == read(path)
    if cut:  # no token is read twice: rows that share it are neighbours and look together
        assert sum(piece.end - piece.begin for piece in found) == nodes(prompts)


@given(prompt_lists, prompt_lists)
def test_a_trimmed_tree_knows_what_was_kept(first: list[Ids], second: list[Ids]) -> None:
    tree = TokenTree()
    for prompt in first:
        tree.add(prompt)
    known = [tree.find(prompt) for prompt in second]
    before = [read(path) for path in known]
    tree.trim(known)
    assert [read(tree.find(prompt)) for prompt in second] == before
    assert tree.tokens == nodes([np.array(each, np.int32) for each in before])
    for prompt in second:
        assert read(tree.add(prompt)[0]) == prompt.tolist()


def test_a_haystack_with_needles_is_one_trunk_with_side_chains() -> None:
    haystack = list(range(10, 50))
    cells = [ids(*haystack[:at], 1, 2, *haystack[at:], 3) for at in (0, 10, 20, 30, 40)]
    tree = TokenTree()
    paths = [tree.add(cells[each])[0] for each in trunk_first(cells)]
    assert max(map(len, paths)) == 2
    assert tree.tokens == tree_size(cells) == nodes(cells)


def test_a_prompt_within_another_is_computed_with_it_or_for_one_token() -> None:
    tree = TokenTree()
    tree.add(ids(1, 2, 3, 4))
    path, chain = tree.add(ids(1, 2))
    assert (read(path), chain) == ([1, 2], None)  # nothing computed yet: what follows 2 can still be noted
    path[-1].chain.filled = 4
    path, chain = tree.add(ids(1, 2, 3))
    assert chain is not None
    assert (read(path), chain.ids.tolist(), length(path_to(chain, 0))) == ([1, 2, 3], [3], 2)
    assert read(tree.find(ids(1, 2, 3, 4))) == [1, 2, 3, 4]


def test_runs_stand_behind_their_own_beginning() -> None:
    tree = TokenTree()
    tree.add(ids(1, 2, 3))
    _, chain = tree.add(ids(1, 2, 9, 9, 9))
    assert chain is not None
    [run] = [run for runs in passes([chain], 8) for run in runs]
    assert run == TokenRun(chain, 0, 3)
    assert read(path_to(chain, 1)) == [1, 2, 9]


def test_common_prefix() -> None:
    assert common_prefix(ids(1, 2, 3), ids(1, 2, 4)) == 2
    assert common_prefix(ids(1, 2), ids(1, 2, 4)) == 2
    assert common_prefix(ids(), ids(1)) == 0
