//! Runs through all pairs of a template and a kind of tokenizer, on all cores.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::corpus::PublicTemplate;
use crate::draws::Draws;
use crate::oracle::{self, Write};
use crate::setting::{KINDS, Setting};
use crate::tally::Tally;

/// A template and a kind, by their places.
type Pair = (usize, usize);

/// Judges conversations until there were `messages`, as many for each pair.
pub(crate) fn fuzz(templates: &[PublicTemplate], messages: usize, write: Write) -> Tally {
    let pairs = pairs(templates);
    let each = messages.div_ceil(pairs.len());
    let next = AtomicUsize::new(0);
    let done = AtomicUsize::new(0);
    let total = Mutex::new(Tally::new());
    let work = || {
        while let Some(&pair) = pairs.get(next.fetch_add(1, Ordering::Relaxed)) {
            // `tokenizers` keeps what it merged for each vocabulary, in each thread, until the thread ends: one for each.
            let tally =
                thread::scope(|own| own.spawn(|| of_pair(templates, pair, each, write)).join().unwrap());
            progress(&done, tally.messages, messages);
            total.lock().unwrap().add(tally);
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    total.into_inner().unwrap()
}

/// Every pair once, in an order that no name determines.
fn pairs(templates: &[PublicTemplate]) -> Vec<Pair> {
    let only = std::env::var("ALLOQUY_FUZZ_TEMPLATE").ok();
    let wanted = |place: &usize| only.as_ref().is_none_or(|only| *only == templates[*place].slug);
    let places = (0..templates.len()).filter(wanted);
    let mut pairs: Vec<_> =
        places.flat_map(|place| (0..KINDS.len()).map(move |kind| (place, kind))).collect();
    assert!(!pairs.is_empty(), "ALLOQUY_FUZZ_TEMPLATE names no template: {only:?}");
    Draws::new(&[pairs.len() as u64]).shuffle(&mut pairs);
    pairs
}

fn of_pair(templates: &[PublicTemplate], (place, kind): Pair, messages: usize, write: Write) -> Tally {
    let public = &templates[place];
    let mut tally = Tally::new();
    let Some(setting) = Setting::new(public, &KINDS[kind]) else {
        tally.uncompiled(&public.slug);
        return tally;
    };
    for number in 0.. {
        if tally.messages >= messages {
            break;
        }
        let draws = Draws::new(&[place as u64, kind as u64, number]);
        tally.count(&public.slug, &setting, number, oracle::judge(&setting, &draws, write));
    }
    tally
}

/// Says how far it is, ten times in all.
fn progress(done: &AtomicUsize, more: usize, messages: usize) {
    let before = done.fetch_add(more, Ordering::Relaxed);
    let tenth = |count: usize| 10 * count / messages;
    if tenth(before + more) > tenth(before) {
        eprintln!("{} of {messages} messages", before + more);
    }
}
