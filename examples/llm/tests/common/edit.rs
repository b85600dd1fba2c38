//! Changed copies of a model file.

use dinrail_core::tensor::DType;
use dinrail_gguf::{File, Value, Writer};

/// What is changed.
#[derive(Default)]
pub struct Edit<'a> {
    pub drop_keys: Vec<&'a str>,
    pub set: Vec<(&'a str, Value<'a>)>,
    pub drop_tensors: Vec<&'a str>,
    /// Taken instead of the tensor of this name, or added.
    pub tensors: Vec<(&'a str, DType, Vec<u64>, &'a [u8])>,
    /// A word in front of every key that begins with another.
    pub prefix: Option<(&'a str, &'a str)>,
}

impl Edit<'_> {
    /// The changed file.
    pub fn apply(&self, file: &File<'_>) -> Vec<u8> {
        let mut w = Writer::new();
        for (key, value) in file.metadata() {
            let gone = self.drop_keys.contains(&key) || self.set.iter().any(|(k, _)| *k == key);
            if !gone {
                match self.prefix {
                    Some((from, to)) if key.starts_with(from) => {
                        w.value(&format!("{to}{}", &key[from.len()..]), value)
                    }
                    _ => w.value(key, value),
                };
            }
        }
        for (key, value) in &self.set {
            w.value(key, *value);
        }
        for t in file.tensors() {
            let replaced = self.tensors.iter().any(|(name, ..)| *name == t.name);
            if !replaced && !self.drop_tensors.contains(&t.name) {
                w.tensor(t.name, t.dtype, &t.ne[..t.n_dims as usize], t.bytes()).unwrap();
            }
        }
        for (name, dtype, ne, bytes) in &self.tensors {
            w.tensor(name, *dtype, ne, bytes).unwrap();
        }
        w.to_vec().unwrap()
    }
}
