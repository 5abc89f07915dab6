//! TODO
fn main(){}
