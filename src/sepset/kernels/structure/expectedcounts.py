r"""Expected counts of families where cells are missing.

The missing cells of a row fall into blocks that are independent given what the row observes. A block has completions:
joint states of its cells, each with a probability. A family involves few cells of few blocks, so its expected counts
are sums over the completions of those blocks only,

$$\bar M[\mathbf v] = \sum_m w_m \sum_{\mathbf c} \prod_{b} P(c_b \mid \mathbf o[m]) \,
\mathbb 1[\mathbf v = \mathbf v(\mathbf o[m], \mathbf c)].$$
"""

from __future__ import annotations

from sepset.base.arraytypes import AnyInts, Bytes, Floats, Int32s, Ints
from sepset.kernels.kernel import kernel
from sepset.kernels.structure.familyscores import table_score


@kernel(borrows=True)
def count_entries(cells: Int32s, block_of: Int32s, first: Ints, columns: Ints, blocks: Int32s, out: Ints) -> None:
    """The blocks that each row involves in some columns, -1 where none is left, and its number of completions.

    Args:
        cells: for each column and row the number of the missing cell; -1 where it is observed.
        block_of: the block of each missing cell.
        first: the first completion of each block, and their number at the end.
        columns: the columns.
        blocks: one row per row, as wide as there are columns.
        out: one number per row.
    """
    for row in range(len(out)):
        used, number = 0, 1
        for j in range(len(columns)):
            blocks[row, j] = -1
            cell = cells[columns[j], row]
            if cell < 0:
                continue
            block = block_of[cell]
            is_new = True
            for k in range(used):
                if blocks[row, k] == block:
                    is_new = False
            if is_new:
                blocks[row, used] = block
                used += 1
                number *= first[block + 1] - first[block]
        out[row] = number


@kernel(borrows=True)
def fill_entries(
    codes: AnyInts,
    weights: Floats,
    cells: Int32s,
    block_of: Int32s,
    first: Ints,
    code_at: Ints,
    states: AnyInts,
    chances: Floats,
    columns: Ints,
    strides: Ints,
    blocks: Int32s,
    numbers: Ints,
    row_of: Int32s,
    keys: Ints,
    mass: Floats,
    chosen: Int32s,
) -> None:
    """Every row with each joint completion of the blocks that some columns involve: its key, weight and choices.

    Args:
        codes: one row per column of data.
        weights: one per row.
        code_at: where the states of each missing cell begin, one for each completion of its block.
        states: of missing cells.
        chances: the probability of each completion.
        columns: those that make up the key.
        strides: what a state of each of them adds to the key.
        blocks, numbers: of `count_entries`; `cells`, `block_of` and `first` as there.
        row_of, keys, mass: the row, the key and the weight of each entry.
        chosen: which completion of each of its row's blocks an entry has.
    """
    entry = 0
    for row in range(codes.shape[1]):
        for number in range(numbers[row]):
            rest, weight = number, weights[row]
            for k in range(len(columns)):
                block = blocks[row, k]
                if block < 0:
                    break
                size = first[block + 1] - first[block]
                choice = rest % size
                rest //= size
                chosen[entry, k] = choice
                weight *= chances[first[block] + choice]
            key = 0
            for j in range(len(columns)):
                cell = cells[columns[j], row]
                if cell < 0:
                    key += strides[j] * codes[columns[j], row]
                else:
                    k = 0
                    while blocks[row, k] != block_of[cell]:
                        k += 1
                    key += strides[j] * states[code_at[cell] + chosen[entry, k]]
            row_of[entry], keys[entry], mass[entry] = row, key, weight
            entry += 1


@kernel(borrows=True)
def add_candidate(
    x: int, codes: AnyInts, cells: Int32s, block_of: Int32s, first: Ints, code_at: Ints, states: AnyInts,
    chances: Floats, blocks: Int32s, row_of: Int32s, keys: Ints, mass: Floats, chosen: Int32s, size: int, table: Floats,
) -> None:  # fmt: skip
    """Add all entries to the table whose contexts the column `x` splits; -1 for no split. See `fill_entries`."""
    for e in range(len(keys)):
        row = row_of[e]
        if x < 0:
            table[keys[e]] += mass[e]
            continue
        cell = cells[x, row]
        if cell < 0:
            table[codes[x, row] * size + keys[e]] += mass[e]
            continue
        block, found = block_of[cell], -1
        for k in range(blocks.shape[1]):
            if blocks[row, k] == block:
                found = k
        if found >= 0:
            table[states[code_at[cell] + chosen[e, found]] * size + keys[e]] += mass[e]
            continue
        for c in range(first[block + 1] - first[block]):
            table[states[code_at[cell] + c] * size + keys[e]] += mass[e] * chances[first[block] + c]


@kernel
def score_expected(
    codes: AnyInts, cells: Int32s, block_of: Int32s, first: Ints, code_at: Ints, states: AnyInts, chances: Floats,
    blocks: Int32s, row_of: Int32s, keys: Ints, mass: Floats, chosen: Int32s, num_contexts: int, r: int, cards: Ints,
    candidates: Ints, kind: int, alphas: Floats, logs: Floats, room: Floats, cancel: Bytes, out: Floats,
) -> None:  # fmt: skip
    """The score of each candidate's table of expected counts; see `fill_entries` and `familyscores.table_score`."""
    size = num_contexts * r
    for k in range(len(candidates)):
        if cancel[0]:
            return
        x = candidates[k]
        contexts = num_contexts * cards[x]
        table = room[: contexts * r]
        table[:] = 0.0
        add_candidate(
            x, codes, cells, block_of, first, code_at, states, chances, blocks, row_of, keys, mass, chosen, size, table
        )
        out[k] = table_score(table, contexts, r, kind, alphas[k], logs, logs[:0])
