// SPDX-License-Identifier: Apache-2.0
//! Tokens for async code, without an async runtime: a thread generates, a future waits for the next token, and dropping
//! the receiver (a timeout, a client that hung up) cancels the generation.      usage: asynchronous MODEL PROMPT
use std::collections::VecDeque;
use std::future::{poll_fn, Future};
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use tulle::{Canceller, GenerateOptions, Result, Session, Token};

#[derive(Default)]
struct Shared {
    tokens: VecDeque<Result<Token>>,
    ended: bool,
    waker: Option<Waker>,
}

/// The receiving end: cancels when it is dropped.
struct Tokens {
    shared: Arc<Mutex<Shared>>,
    canceller: Canceller,
}

impl Tokens {
    /// The next token, or None at the end.
    async fn next(&mut self) -> Option<Result<Token>> {
        poll_fn(|context| {
            let mut shared = self.shared.lock().unwrap();
            match shared.tokens.pop_front() {
                None if !shared.ended => {
                    shared.waker = Some(context.waker().clone());
                    Poll::Pending
                }
                token => Poll::Ready(token),
            }
        })
        .await
    }
}

impl Drop for Tokens {
    fn drop(&mut self) {
        self.canceller.cancel();
    }
}

/// Generates on a thread of its own.
fn spawn(mut session: Session, prompt: String, options: GenerateOptions) -> Tokens {
    let tokens = Tokens { shared: Arc::default(), canceller: session.canceller() };
    let shared = Arc::clone(&tokens.shared);
    thread::spawn(move || {
        let push = |token: Option<Result<Token>>| {
            let mut shared = shared.lock().unwrap();
            shared.ended = token.is_none();
            shared.tokens.extend(token);
            if let Some(waker) = shared.waker.take() {
                waker.wake();
            }
        };
        match session.generate(&prompt, &options) {
            // The receiver may have been dropped before there was anything to cancel.
            Ok(generation) => {
                generation.take_while(|_| Arc::strong_count(&shared) > 1).for_each(|token| push(Some(token)))
            }
            Err(error) => push(Some(Err(error))),
        }
        push(None);
    });
    tokens
}

/// The smallest form of a runtime.
fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().collect();
    let session = tulle::Model::load(&arguments[1])?.session()?;
    let endless = GenerateOptions::new().max_new_tokens(1 << 20).ignore_eos(true);
    block_on(async {
        let mut tokens = spawn(session, arguments[2].clone(), endless);
        for _ in 0..16 {
            match tokens.next().await {
                Some(token) => print!("{}", token?.text),
                None => break,
            }
        }
        println!();
        Ok(()) // dropping `tokens` here cancels the rest
    })
}
