"""The plan of a job, computed the slow and plain way.

Written from docs/plan.md alone and sharing no code with the product: two people who read one contract must come to
the same digests.  Nothing here is clever.  Whole epochs are listed, windows are built as lists, and fractions are
Python's.  Section numbers are those of docs/plan.md.

A Spec describes a job as integers; `tokens` of a dataset is the number of tokens of each of its documents, in the
order of the documents (bos and eos included, before `truncate` and `holdout`).
"""
import hashlib
import struct
from dataclasses import dataclass, field
from fractions import Fraction

MASK = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15
BAD = None  # in place of a token count: the document cannot be read


# ---------------------------------------------------------------------------------------------- 2. Keys and permutations
def le32(value):
    return struct.pack("<I", value)


def le64(value):
    return struct.pack("<Q", value & MASK)


def key(seed, purpose, name, n):
    text = b"leat-plan-1\0" + le64(seed) + purpose.encode() + b"\0" + name.encode() + b"\0" + le64(n)
    return int.from_bytes(hashlib.sha256(text).digest()[:8], "little")


def mix(x):
    x ^= x >> 30
    x = x * 0xBF58476D1CE4E5B9 & MASK
    x ^= x >> 27
    x = x * 0x94D049BB133111EB & MASK
    return x ^ x >> 31


def permutation(k, n):
    """[permute(k, n, x) for x = 0 … n-1]"""
    if n <= 1:
        return list(range(n))
    bits = max(2, (n - 1).bit_length())
    lo = bits // 2
    hi = bits - lo
    round_keys = [mix(k + (r + 1) * GOLDEN & MASK) for r in range(16 if n <= 65536 else 8)]

    def once(x):
        a, b = hi, lo
        left, right = x >> b, x & (1 << b) - 1
        for round_key in round_keys:
            f = mix((right + 1) * GOLDEN + round_key & MASK) & (1 << a) - 1
            left, right = right, left ^ f
            a, b = b, a
        return left << lo | right

    result = []
    for x in range(n):
        y = once(x)
        while y >= n:
            y = once(y)
        result.append(y)
    return result


# ------------------------------------------------------------------------------------------------------- what a job says
@dataclass
class Dataset:
    name: str
    tokens: list  # of each document
    weight: int = 1
    shards: list = None  # documents of each shard
    epochs: int = 0
    holdout: int = 0  # millionths
    use_holdout: bool = False
    unit: str = "block"
    block: int = 256
    buffer: int = 16384
    piece_window: int = 256
    window_tokens: int = 1 << 20


@dataclass
class Spec:
    seed: int
    row_tokens: int
    datasets: list
    piece: int = 0  # 0: row_tokens
    packing: str = "concat"
    pack_window: int = 1024
    truncate: bool = False
    by_documents: bool = False
    drop_exhausted: bool = False
    drop_last: bool = True
    stages: list = field(default_factory=list)  # (from_row, weights of all datasets)
    batch_sizes: list = field(default_factory=lambda: [(0, 1)])  # (from_step, rows)

    def step_rows(self, step):
        return [rows for from_step, rows in self.batch_sizes if from_step <= step][-1]

    def step_first_row(self, step):
        """The first row of a step; segment by segment, since steps can be large."""
        first = 0
        ends = [from_step for from_step, _ in self.batch_sizes[1:]] + [step]
        for (begin, rows), end in zip(self.batch_sizes, ends):
            first += max(0, min(end, step) - begin) * rows
        return first


def job_slice(rows, rank, ranks):
    """8. Slices: rows [first, end) of a rank."""
    return rank * rows // ranks, (rank + 1) * rows // ranks


class Refused(Exception):
    """"dataset X has no tokens", or (bad) a document that cannot be read."""

    def __init__(self, dataset, position=0, bad=False):
        super().__init__("document %d of dataset %d is bad" % (position, dataset) if bad
                         else "dataset %d has no tokens" % dataset)
        self.dataset, self.position, self.bad = dataset, position, bad


# --------------------------------------------------------------------------------------------- 3. Order of documents
def set_apart(seed, dataset):
    """For each document, whether holdout takes its tokens from this job."""
    count = len(dataset.tokens)
    if dataset.holdout == 0 and not dataset.use_holdout:
        return [False] * count
    place = permutation(key(seed, "holdout", dataset.name, 0), count)
    held_out = [place[d] < count * dataset.holdout // 1000000 for d in range(count)]
    return [not held for held in held_out] if dataset.use_holdout else held_out


def unit_order(seed, dataset, epoch):
    """The documents of an epoch by the unit rule (2.), place by place."""
    count = len(dataset.tokens)
    k = key(seed, "unit", dataset.name, epoch)
    if dataset.unit == "none":
        return list(range(count))
    if dataset.unit == "document":
        return permutation(k, count)
    if dataset.unit == "block":
        size = min(dataset.block, max(1, count // 64))
        units = [list(range(first, min(first + size, count))) for first in range(0, count, size)]
    else:
        units, first = [], 0
        for documents in dataset.shards:
            units.append(list(range(first, first + documents)))
            first += documents
    return [document for u in permutation(k, len(units)) for document in units[u]]


def epoch_order(seed, dataset, epoch):
    by_unit = unit_order(seed, dataset, epoch)
    if dataset.buffer <= 1:
        return by_unit
    order = []
    for g, first in enumerate(range(0, len(by_unit), dataset.buffer)):
        places = by_unit[first:first + dataset.buffer]
        k = key(seed, "buffer", dataset.name, (epoch << 32) + g)
        order += [places[u] for u in permutation(k, len(places))]
    return order


# ------------------------------------------------------------------------------------------- 4. Documents to pieces
@dataclass(frozen=True)
class Piece:
    dataset: int
    position: int  # stream position of its document
    document: int
    start: int
    end: int
    last: bool  # holds the last token of its document


class Stream:
    """A dataset's pieces, window after window.  `begin` is where the current window begins."""

    def __init__(self, spec, number):
        self.spec, self.number, self.dataset = spec, number, spec.datasets[number]
        self.piece = spec.piece or spec.row_tokens
        self.documents = len(self.dataset.tokens)
        self.orders = {}
        self.apart = set_apart(spec.seed, self.dataset)
        self.empty = all(self.count_of(d) == 0 for d in range(self.documents))
        self.begin, self.window, self.taken = (0, 0), 0, 0
        self.pieces = None  # of the current window, in drawing order; None where not built yet

    def count_of(self, document):
        if self.apart[document]:
            return 0
        count = self.dataset.tokens[document]
        if count is BAD:
            return BAD
        return min(count, self.piece) if self.spec.truncate else count

    def document_at(self, position):
        epoch, place = divmod(position, self.documents)
        if epoch not in self.orders:
            self.orders[epoch] = epoch_order(self.spec.seed, self.dataset, epoch)
        return self.orders[epoch][place]

    def pieces_from(self, position, offset):
        """All pieces of the stream from there on (a generator)."""
        while self.dataset.epochs == 0 or position < self.dataset.epochs * self.documents:
            document = self.document_at(position)
            count = self.count_of(document)
            if count is BAD:
                raise Refused(self.number, position, bad=True)
            while offset < count:
                end = min(offset + self.piece, count)
                yield Piece(self.number, position, document, offset, end, end == count)
                offset = end
            if (position + 1) % self.documents == 0:
                yield None  # the end of an epoch
            position, offset = position + 1, 0

    def build(self):
        """The window at self.begin: its pieces in stream order, then permuted."""
        if self.empty:
            raise Refused(self.number)
        inside, tokens = [], 0
        for piece in self.pieces_from(*self.begin):
            if piece is None:
                if inside:
                    break
                continue
            inside.append(piece)
            tokens += piece.end - piece.start
            if len(inside) == self.dataset.piece_window or tokens >= self.dataset.window_tokens:
                break
        if inside:
            last = inside[-1]
            self.after = (last.position + 1, 0) if last.last else (last.position, last.end)
        order = permutation(key(self.spec.seed, "pieces", self.dataset.name, self.window), len(inside))
        self.pieces = [inside[j] for j in order]

    def take(self):
        """The next piece, or None at the end of the stream."""
        if self.pieces is None:
            self.build()
        if not self.pieces:
            return None
        piece = self.pieces[self.taken]
        self.taken += 1
        if self.taken == len(self.pieces):  # the normal form of section 10
            self.begin, self.window, self.taken, self.pieces = self.after, self.window + 1, 0, None
        return piece


# ------------------------------------------------------------------------------------------------- 6. Packing, best_fit
@dataclass(frozen=True)
class Segment:
    dataset: int
    position: int
    document: int
    start: int
    length: int


def segment_of(piece):
    return Segment(piece.dataset, piece.position, piece.document, piece.start, piece.end - piece.start)


def pack_best_fit(pieces, row_tokens):
    """Rows (lists of draw numbers) in the order of their first pieces."""
    length = [piece.end - piece.start for piece in pieces]
    rows, room = [], []
    for i in sorted(range(len(pieces)), key=lambda i: (-length[i], i)):
        fitting = [r for r in range(len(rows)) if room[r] >= length[i]]
        if fitting:
            best = min(fitting, key=lambda r: (room[r], r))
        else:
            best = len(rows)
            rows.append([])
            room.append(row_tokens)
        rows[best].append(i)
        room[best] -= length[i]
    return sorted(sorted(row) for row in rows)


def deal(rows, spec, window):
    """The order in which a window's rows (lists of segments) are given out."""
    datasets = range(len(spec.datasets))
    tokens = [[sum(s.length for s in row if s.dataset == e) for e in datasets] for row in rows]
    owner = [max(datasets, key=lambda e: (row[e], -e)) for row in tokens]
    queues = [[r for r in range(len(rows)) if owner[r] == e] for e in datasets]
    owning = [e for e in datasets if queues[e]]
    if len(owning) >= 33:
        valued = []
        for e in owning:
            u = key(spec.seed, "deal", spec.datasets[e].name, window) >> 54
            valued += [(Fraction(1024 * k + u, len(queues[e])), e, r) for k, r in enumerate(queues[e])]
        return [rows[r] for _, _, r in sorted(valued)]
    total_of = [sum(row[e] for row in tokens) for e in datasets]
    total = sum(total_of)
    credit = [0 for _ in datasets]
    dealt = []
    while len(dealt) < len(rows):
        d = max((e for e in datasets if queues[e]), key=lambda e: (credit[e], -e))
        r = queues[d].pop(0)
        dealt.append(rows[r])
        for e in datasets:
            credit[e] += total_of[e] * sum(tokens[r]) - total * tokens[r][e]
    return dealt


# ------------------------------------------------------------------------------------------- 5. to 7.: the plan itself
@dataclass
class Step:
    step: int
    first_row: int
    rows: list  # of lists of Segments


class Plan:
    """next() gives one step after another, None at the end.  cursor() is the cursor of the step that comes next."""

    def __init__(self, spec):
        self.spec = spec
        self.row_tokens = spec.row_tokens
        self.streams = [Stream(spec, d) for d in range(len(spec.datasets))]
        self.weights = [dataset.weight for dataset in spec.datasets]
        self.credit = [0 for _ in spec.datasets]
        self.found_ended = [False for _ in spec.datasets]
        self.stage = None  # as of the last draw; 0: the datasets' own weights, 1: the first of the list
        self.ended = False
        self.step = self.rows_given = 0
        self.rows_full = 0  # rows completed: those that have all R tokens, or were packed and served
        self.rest = None  # concat: what is left of a piece
        self.dealt = []  # best_fit: rows of the window that were not served yet
        self.window, self.served, self.window_state = 0, 0, None  # the state as the window began
        self.dropped_rows = self.dropped_tokens = 0
        self.last_cursor = self.make_cursor()

    # 5. Mixing
    def enter_stage(self, rows_completed):
        stage = sum(from_row <= rows_completed for from_row, _ in self.spec.stages)
        if stage != self.stage:
            if stage > 0:
                self.weights = list(self.spec.stages[stage - 1][1])
            self.stage = stage
            self.credit = [0 for _ in self.credit]

    def draw(self, rows_completed):
        """The next piece; None: the plan has ended."""
        if self.ended:
            return None
        self.enter_stage(rows_completed)
        while True:
            active = [e for e in range(len(self.streams)) if not self.found_ended[e] and self.weights[e] > 0]
            if not active:
                self.ended = True
                return None
            d = max(active, key=lambda e: (self.credit[e], -e))
            piece = self.streams[d].take()
            if piece is not None:
                break
            self.found_ended[d], self.credit[d] = True, 0
            if not self.spec.drop_exhausted:
                self.ended = True
                return None
        n = int(piece.last) if self.spec.by_documents else piece.end - piece.start
        for e in active:
            self.credit[e] += self.weights[e] * n
        self.credit[d] -= sum(self.weights[e] for e in active) * n
        return piece

    # 6. Packing
    def next_row(self):
        """A row as segments; None: there is no further row."""
        if self.spec.packing == "single":
            piece = self.draw(self.rows_full)
            if piece is None:
                return None
            self.rows_full += 1
            return [segment_of(piece)]
        if self.spec.packing == "best_fit":
            if not self.dealt:
                self.open_window()
            if not self.dealt:
                return None
            self.served += 1
            return self.dealt.pop(0)
        return self.next_concat_row()

    def next_concat_row(self):
        row, room = [], self.row_tokens
        while room > 0:
            if self.rest is None:
                piece = self.draw(self.rows_full)
                if piece is None:
                    break
                self.rest = segment_of(piece)
            rest = self.rest
            n = min(room, rest.length)
            before = row[-1] if row else None
            if before and (before.dataset, before.position, before.start + before.length) == (
                    rest.dataset, rest.position, rest.start):
                row[-1] = Segment(rest.dataset, rest.position, rest.document, before.start, before.length + n)
            else:
                row.append(Segment(rest.dataset, rest.position, rest.document, rest.start, n))
            room -= n
            self.rest = None if n == rest.length else Segment(
                rest.dataset, rest.position, rest.document, rest.start + n, rest.length - n)
        if room == 0:
            self.rows_full += 1
            return row
        if row and not self.spec.drop_last:
            return row
        self.dropped_tokens = self.row_tokens - room
        return None

    def open_window(self):
        self.window_state = (self.stage, self.rows_full, self.dataset_items())
        drawn, tokens = [], 0
        while tokens < self.spec.pack_window * self.row_tokens:
            piece = self.draw(self.rows_full)
            if piece is None:
                break
            drawn.append(piece)
            tokens += piece.end - piece.start
        rows = pack_best_fit(drawn, self.row_tokens)
        order = permutation(key(self.spec.seed, "rows", "", self.window), len(rows))
        self.dealt = deal([[segment_of(drawn[i]) for i in rows[r]] for r in order], self.spec, self.window)
        self.served = 0
        if not drawn:  # the plan has ended: no window was opened
            self.window_state = None

    # 7. Batches
    def next(self):
        wanted = self.spec.step_rows(self.step)
        rows = []
        while len(rows) < wanted:
            row = self.next_row()
            if row is None:
                break
            rows.append(row)
            if self.spec.packing == "best_fit":
                self.rows_full += 1
                if not self.dealt:  # the normal form of section 10
                    self.window += 1
                    self.served = 0
                    self.window_state = None
        if not rows or (len(rows) < wanted and self.spec.drop_last):
            self.dropped_rows = len(rows)
            return None
        step = Step(self.step, self.rows_given, rows)
        self.step += 1
        self.rows_given += len(rows)
        self.last_cursor = self.make_cursor()
        return step

    # 10. Cursor
    def dataset_items(self):
        """(position, offset, window, pieces taken, credit, found ended) of each dataset"""
        return [(*stream.begin, stream.window, stream.taken, self.credit[d], self.found_ended[d])
                for d, stream in enumerate(self.streams)]

    def make_cursor(self):
        cursor = {"step": self.step, "first_row": self.rows_given, "ended": self.ended, "stage": self.stage,
                  "rows": self.rows_full, "any_ended": any(self.found_ended), "rest": None,
                  "window": 0, "served": 0, "datasets": self.dataset_items()}
        if self.rest is not None:
            rest = self.rest
            cursor["rest"] = (rest.dataset, rest.position, rest.start, rest.start + rest.length)
        if self.spec.packing == "best_fit":
            cursor["window"], cursor["served"] = self.window, self.served
            if self.window_state is not None:
                cursor["stage"], cursor["rows"], cursor["datasets"] = self.window_state
                cursor["ended"] = False
        return cursor

    def cursor(self):
        return self.last_cursor


# ------------------------------------------------------------------------------------------------------------ 9. Digests
def row_digest(row_tokens, row, tokens_of, pad_id=0):
    """`tokens_of(segment)` gives the ids of a segment."""
    ids, ends = [], []
    for segment in row:
        ids += tokens_of(segment)
        ends.append(len(ids))
    ids += [pad_id] * (row_tokens - len(ids))
    return hashlib.sha256(b"leat-row-1\0" + le32(row_tokens) + struct.pack("<%dI" % len(ids), *ids)
                          + le32(len(ends)) + struct.pack("<%dI" % len(ends), *ends) + le32(0)).digest()


def batch_digest(row_digests):
    return hashlib.sha256(b"leat-batch-1\0" + b"".join(row_digests)).digest()


def chain_digest(previous, batch):
    return hashlib.sha256(b"leat-chain-1\0" + previous + batch).digest()


def batch_line(plan, step, previous_chain, tokens_of, pad_id=0):
    """A step as the object that batches.jsonl holds, and the chain after it."""
    batch = batch_digest([row_digest(plan.row_tokens, row, tokens_of, pad_id) for row in step.rows])
    chain = chain_digest(previous_chain, batch)
    by_dataset = [0 for _ in plan.streams]
    for row in step.rows:
        for segment in row:
            by_dataset[segment.dataset] += segment.length
    line = {"step": step.step, "batch": batch.hex(), "chain": chain.hex(), "rows": len(step.rows),
            "tokens": sum(by_dataset), "by_dataset": [[d, n] for d, n in enumerate(by_dataset) if n]}
    return line, chain
