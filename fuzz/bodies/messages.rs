//! Messages between app and judge: whatever comes, reading them gives a message or an error, and what was read is
//! written and read again unchanged.

use judge::message::{Request, Response};

/// One input.
pub fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Ok(request) = serde_json::from_str::<Request>(text) {
        let written = serde_json::to_string(&request).expect("a message is plain data");
        let again: Request = serde_json::from_str(&written).expect("what is written can be read");
        assert_eq!(serde_json::to_string(&again).expect("as before"), written);
    }
    if let Ok(response) = serde_json::from_str::<Response>(text) {
        let written = serde_json::to_string(&response).expect("a message is plain data");
        let again: Response = serde_json::from_str(&written).expect("what is written can be read");
        assert_eq!(serde_json::to_string(&again).expect("as before"), written);
    }
}
