//! Where a tensor lies in a safetensors file: a length, a JSON header, then the bytes.
//!
//! Must not read the tensors themselves: they can be large, and the judge reads them straight into its memory.

use crate::{ForeignError, Tensor};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Longest header that is read, bytes: the format's own limit.
const LONGEST: u64 = 100 << 20;

#[derive(Deserialize)]
struct Entry {
    dtype: String,
    shape: Vec<usize>,
    data_offsets: [u64; 2],
}

/// Offset of the tensor `key` in the file, once its type and shape are those expected.
pub(crate) fn locate(path: &Path, key: &str, expected: &Tensor) -> Result<u64, ForeignError> {
    let io = |error| ForeignError::File { path: path.to_owned(), error };
    let mut file = File::open(path).map_err(io)?;
    let mut length = [0; 8];
    file.read_exact(&mut length).map_err(io)?;
    let length = u64::from_le_bytes(length);
    if length > LONGEST {
        return Err(ForeignError::schema(path, format!("a header of {length} bytes is no safetensors header")));
    }
    let mut header = vec![0; length as usize];
    file.read_exact(&mut header).map_err(io)?;
    let header: BTreeMap<String, serde_json::Value> =
        serde_json::from_slice(&header).map_err(|error| ForeignError::schema(path, error))?;
    let entry = header.get(key).ok_or_else(|| ForeignError::schema(path, format!("no tensor is called `{key}`")))?;
    let entry: Entry = serde_json::from_value(entry.clone()).map_err(|error| ForeignError::schema(path, error))?;
    let bytes = entry.data_offsets[1].checked_sub(entry.data_offsets[0]);
    let is_same = entry.shape == expected.shape && entry.dtype.eq_ignore_ascii_case(expected.dtype.name());
    if !is_same || bytes != Some(expected.bytes() as u64) {
        let why = format!(
            "`{key}` is {} {:?}, and the definition wants {} {:?}",
            entry.dtype,
            entry.shape,
            expected.dtype.name(),
            expected.shape
        );
        return Err(ForeignError::schema(path, why));
    }
    Ok(8 + length + entry.data_offsets[0])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Dtype;

    fn file(header: &str) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
        bytes.extend(header.as_bytes());
        bytes.extend([0; 64]);
        std::fs::write(file.path(), bytes).unwrap();
        file
    }

    #[test]
    fn a_tensor_is_located_or_the_difference_named() {
        let header = r#"{"__metadata__":{"a":"b"},"w":{"dtype":"F32","shape":[2,3],"data_offsets":[8,32]}}"#;
        let file = file(header);
        let tensor = |dtype, shape: &[usize]| Tensor { name: "w".into(), dtype, shape: shape.to_vec() };
        let check = |key: &str, tensor: &Tensor, expected: Result<u64, &str>| {
            let found = locate(file.path(), key, tensor).map_err(|error| error.to_string());
            match expected {
                Ok(offset) => assert_eq!(found, Ok(offset)),
                Err(part) => assert!(found.as_ref().is_err_and(|text| text.contains(part)), "{found:?}"),
            }
        };
        check("w", &tensor(Dtype::F32, &[2, 3]), Ok(8 + header.len() as u64 + 8));
        check("v", &tensor(Dtype::F32, &[2, 3]), Err("no tensor is called `v`"));
        check("w", &tensor(Dtype::F32, &[3, 2]), Err("wants f32 [3, 2]"));
        check("w", &tensor(Dtype::Bf16, &[2, 3]), Err("is F32 [2, 3]"));
    }

    #[test]
    fn rubbish_is_an_error() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let tensor = Tensor { name: "w".into(), dtype: Dtype::F32, shape: vec![1] };
        for bytes in [&b""[..], b"\xff\xff\xff\xff\xff\xff\xff\xff", b"\x02\0\0\0\0\0\0\0[]"] {
            std::fs::write(file.path(), bytes).unwrap();
            assert!(locate(file.path(), "w", &tensor).is_err(), "{bytes:?}");
        }
    }
}
