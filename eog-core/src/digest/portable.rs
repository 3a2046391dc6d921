//! BLAKE3 without a key, of bytes that are in memory, by its paper
//! (O'Connor, Aumasson, Neves, Wilcox-O'Hearn, 2020).
//!
//! With the feature `blake3`, the crate of that name does the same with vectors, several times faster. It is no plain
//! dependency since it weighs: this crate is 16 crates in all and is to stay below 21, and the library brings eight more,
//! with its feature `pure` as without it (its build script depends on `cc` either way). Users of this crate alone are
//! spared them, and the C compiler. Tests compare the two.

/// Bytes of a block, and of a chunk: what is hashed one block after the other.
const BLOCK: usize = 64;
const CHUNK: usize = 1024;

const CHUNK_START: u32 = 1;
const CHUNK_END: u32 = 2;
const PARENT: u32 = 4;
const ROOT: u32 = 8;

const IV: [u32; 8] = [
    0x6A09_E667,
    0xBB67_AE85,
    0x3C6E_F372,
    0xA54F_F53A,
    0x510E_527F,
    0x9B05_688C,
    0x1F83_D9AB,
    0x5BE0_CD19,
];

/// What identifies a subtree to its parent, or the whole.
type Chained = [u32; 8];

/// The first 32 bytes of the hash.
pub(super) fn hash(bytes: &[u8]) -> [u8; 32] {
    let mut digest = [0; 32];
    for (to, word) in digest.chunks_exact_mut(4).zip(subtree(bytes, 0, ROOT)) {
        to.copy_from_slice(&word.to_le_bytes());
    }
    digest
}

/// The chunks from number `first` on: the left half is the largest power of two of them that leaves something to
/// the right.
fn subtree(bytes: &[u8], first: u64, root: u32) -> Chained {
    let chunks = bytes.len().div_ceil(CHUNK);
    if chunks <= 1 {
        return chunk(bytes, first, root);
    }
    let left = chunks.next_power_of_two() / 2;
    let (before, after) = bytes.split_at(left * CHUNK);
    let mut halves = [0; 16];
    halves[..8].copy_from_slice(&subtree(before, first, 0));
    halves[8..].copy_from_slice(&subtree(after, first + left as u64, 0));
    compress(&IV, &halves, 0, BLOCK, PARENT | root)
}

/// At most [`CHUNK`] bytes; none are a block of no bytes.
fn chunk(bytes: &[u8], number: u64, root: u32) -> Chained {
    let last = bytes.len().div_ceil(BLOCK).saturating_sub(1);
    let mut chained = IV;
    for at in 0..=last {
        let block = &bytes[at * BLOCK..bytes.len().min((at + 1) * BLOCK)];
        let start = if at == 0 { CHUNK_START } else { 0 };
        let end = if at == last { CHUNK_END | root } else { 0 };
        chained = compress(&chained, &words(block), number, block.len(), start | end);
    }
    chained
}

/// A block as words, filled up with zeros.
fn words(block: &[u8]) -> [u32; 16] {
    let mut full = [0; BLOCK];
    full[..block.len()].copy_from_slice(block);
    let mut words = [0; 16];
    for (word, bytes) in words.iter_mut().zip(full.chunks_exact(4)) {
        *word = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    }
    words
}

/// Mixes two words of the message into a column or a diagonal of the state. Macros, since builds without
/// optimization inline no functions.
macro_rules! mix {
    ($state:ident, $a:literal $b:literal $c:literal $d:literal, $x:expr, $y:expr) => {
        $state[$a] = $state[$a].wrapping_add($state[$b]).wrapping_add($x);
        $state[$d] = ($state[$d] ^ $state[$a]).rotate_right(16);
        $state[$c] = $state[$c].wrapping_add($state[$d]);
        $state[$b] = ($state[$b] ^ $state[$c]).rotate_right(12);
        $state[$a] = $state[$a].wrapping_add($state[$b]).wrapping_add($y);
        $state[$d] = ($state[$d] ^ $state[$a]).rotate_right(8);
        $state[$c] = $state[$c].wrapping_add($state[$d]);
        $state[$b] = ($state[$b] ^ $state[$c]).rotate_right(7);
    };
}

/// The columns, then the diagonals, with the words of the message in the given order.
macro_rules! round {
    ($s:ident, $m:ident, $a:literal $b:literal $c:literal $d:literal $e:literal $f:literal $g:literal $h:literal
        $i:literal $j:literal $k:literal $l:literal $n:literal $o:literal $p:literal $q:literal) => {
        mix!($s, 0 4 8 12, $m[$a], $m[$b]);
        mix!($s, 1 5 9 13, $m[$c], $m[$d]);
        mix!($s, 2 6 10 14, $m[$e], $m[$f]);
        mix!($s, 3 7 11 15, $m[$g], $m[$h]);
        mix!($s, 0 5 10 15, $m[$i], $m[$j]);
        mix!($s, 1 6 11 12, $m[$k], $m[$l]);
        mix!($s, 2 7 8 13, $m[$n], $m[$o]);
        mix!($s, 3 4 9 14, $m[$p], $m[$q]);
    };
}

/// One block into what is chained. The order of the words of each round is that of the one before, permuted by the
/// order of the second.
fn compress(
    chained: &Chained,
    message: &[u32; 16],
    counter: u64,
    length: usize,
    flags: u32,
) -> Chained {
    let [a, b, c, d, e, f, g, h] = *chained;
    let [i, j, k, l, ..] = IV;
    let (low, high) = (counter as u32, (counter >> 32) as u32);
    let mut state = [a, b, c, d, e, f, g, h, i, j, k, l, low, high, length as u32, flags];
    round!(state, message, 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);
    round!(state, message, 2 6 3 10 7 0 4 13 1 11 12 5 9 14 15 8);
    round!(state, message, 3 4 10 12 13 2 7 14 6 5 9 0 11 15 8 1);
    round!(state, message, 10 7 12 9 14 3 13 15 4 0 11 2 5 8 1 6);
    round!(state, message, 12 13 9 11 15 10 14 8 7 2 5 3 0 1 6 4);
    round!(state, message, 9 14 11 5 8 12 15 1 13 3 0 10 2 6 4 7);
    round!(state, message, 11 15 5 0 1 9 8 6 14 10 2 12 3 4 7 13);
    let mut next = [0; 8];
    for (at, word) in next.iter_mut().enumerate() {
        *word = state[at] ^ state[at + 8];
    }
    next
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    #[test]
    fn edges_of_blocks_chunks_and_trees_are_hashed_as_by_the_crate_blake3() {
        let bytes: Vec<u8> = (0..=250).cycle().take(17 * 1024 + 1).collect();
        let chunks = [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17].map(|chunks| chunks * 1024);
        let edges = [1, 63, 64, 65, 128, 1023].into_iter().chain(chunks);
        for length in edges.flat_map(|edge| [edge - 1, edge, edge + 1]) {
            let bytes = &bytes[..length];
            assert_eq!(super::hash(bytes), *blake3::hash(bytes).as_bytes(), "{length} bytes");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_hashed_as_by_the_crate_blake3(bytes in prop::collection::vec(any::<u8>(), 0..9000)) {
            prop_assert_eq!(super::hash(&bytes), *blake3::hash(&bytes).as_bytes());
        }
    }
}
