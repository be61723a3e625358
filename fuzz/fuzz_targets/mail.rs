//! Any bytes as the mail around a patch, and as a mailbox: no panic, and what is written is read the same.
#![no_main]
use libfuzzer_sys::fuzz_target;
use umpatch::series::mail::Message;
use umpatch::series::mailbox;

fuzz_target!(|bytes: &[u8]| {
    let parts = mailbox::split(bytes);
    assert_eq!(parts.concat(), bytes, "a mailbox is the sum of its mails");
    for part in parts {
        let _ = mailbox::plain(part);
    }
    let Ok(Some(message)) = Message::from_preamble(bytes) else {
        return;
    };
    // a body that begins with an author's line, or a subject with a tag, is read as such: those are taken off once more
    let is_odd = message.body.contains("From: ") || message.subject.starts_with('[');
    if is_odd {
        return;
    }
    let once = Message::from_preamble(message.emit().as_bytes());
    let Ok(Some(once)) = once else {
        panic!("a mail of ours is none: {:?}", message.emit());
    };
    let twice = Message::from_preamble(once.emit().as_bytes());
    assert_eq!(Ok(Some(once)), twice, "writing settles after one round");
});
