//! Two asynchronous tasks on one core: one awaits tokens, the other counts what it gets done meanwhile. The executor is
//! the smallest there is; on `embassy-executor` the tasks are the same.
#![no_std]
#![no_main]

use core::cell::Cell;
use core::future::{Future, poll_fn};
use core::pin::pin;
use core::task::{Context, Poll, Waker};
use cortex_m_rt::entry;
use dinrail::Result;
use firmware_cortex_m::exit;
use firmware_cortex_m::print::Line;
use firmware_cortex_m::story::{STEPS, Teller};

/// Lets the other tasks run once.
fn pass() -> impl Future<Output = ()> {
    let mut passed = false;
    poll_fn(move |context: &mut Context<'_>| {
        if core::mem::replace(&mut passed, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
}

/// The token behind `token`, a step at a time.
async fn next(teller: &mut Teller, token: u32) -> Result<u32> {
    teller.begin(token)?;
    let mut step = 0;
    while step < STEPS {
        step = teller.step(step)?;
        pass().await;
    }
    teller.finish()
}

async fn tell(done: &Cell<bool>) -> Result<()> {
    let mut teller = Teller::new()?;
    let mut token = 1;
    for _ in 0..5 {
        token = next(&mut teller, token).await?;
        Line::new("token").number(token as usize).end();
    }
    done.set(true);
    Ok(())
}

async fn watch(done: &Cell<bool>) {
    let mut rounds = 0;
    while !done.get() {
        rounds += 1;
        pass().await;
    }
    Line::new("rounds").number(rounds).end();
}

#[entry]
fn main() -> ! {
    let done = Cell::new(false);
    let mut tell = pin!(tell(&done));
    let mut watch = pin!(watch(&done));
    // Both are always ready to go on, so there is nothing to be woken for.
    let mut context = Context::from_waker(Waker::noop());
    let (mut result, mut watched) = (Poll::Pending, Poll::Pending);
    while result.is_pending() || watched.is_pending() {
        if result.is_pending() {
            result = tell.as_mut().poll(&mut context);
            if matches!(result, Poll::Ready(Err(_))) {
                break;
            }
        }
        if watched.is_pending() {
            watched = watch.as_mut().poll(&mut context);
        }
    }
    exit(matches!(result, Poll::Ready(Ok(()))))
}
