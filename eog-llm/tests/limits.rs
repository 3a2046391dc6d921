//! Budgets, rates and further attempts, with models that answer by a script.

use std::collections::VecDeque;
use std::num::{NonZeroU32, NonZeroU64};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use eog::purse::{Purse, PurseError, Short};
use eog_core::{BoxFuture, Budget, BudgetKind, Usage};
use eog_llm::{
    Meter, Metered, Notice, Prices, RateLimited, RateLimiter, RateLimits, Reach, RetryPolicy,
    Retrying,
};
use eog_prompts::{
    ChatError, ChatErrorKind, ChatMessage, ChatModel, ChatRequest, ChatResponse, ModelInfo,
    TokenUsage,
};
use futures_util::FutureExt;
use futures_util::future::{join_all, pending};
use tokio::time::Instant;

type Answer = Result<ChatResponse, ChatError>;

/// Answers in turn, and notes when it was asked. Without an answer it never answers.
struct Scripted {
    info: ModelInfo,
    answers: Mutex<VecDeque<Answer>>,
    asked: Arc<Mutex<Vec<Instant>>>,
}

impl Scripted {
    fn of(answers: impl IntoIterator<Item = Answer>) -> (Self, Arc<Mutex<Vec<Instant>>>) {
        let info = ModelInfo {
            name: "test/model".to_owned(),
            context_tokens: 10_000,
            max_output_tokens: 100,
            tokenizer: "o200k_base".to_owned(),
            timeout: None,
        };
        let asked: Arc<Mutex<Vec<Instant>>> = Arc::default();
        let answers = Mutex::new(answers.into_iter().collect());
        (Self { info, answers, asked: asked.clone() }, asked)
    }
}

impl ChatModel for Scripted {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    fn chat<'a>(&'a self, _: &'a ChatRequest) -> BoxFuture<'a, Answer> {
        Box::pin(async {
            self.asked.lock().expect("whole").push(Instant::now());
            let answer = self.answers.lock().expect("whole").pop_front();
            match answer {
                Some(answer) => answer,
                None => pending().await,
            }
        })
    }
}

/// "hello" is one token, and eight more are set aside for the message.
fn request() -> ChatRequest {
    ChatRequest {
        phase: "explore".to_owned(),
        messages: vec![ChatMessage::user("hello")],
        answer: None,
        max_output_tokens: 91,
        drawn: None,
    }
}

const MOST: u64 = 100;

fn answered(input: u64, output: u64) -> Answer {
    let usage = TokenUsage { calls: 1, input, output, ..TokenUsage::default() };
    Ok(ChatResponse { usage, ..ChatResponse::complete("test/model", "{}") })
}

fn failed(kind: ChatErrorKind) -> Answer {
    Err(ChatError::new("test/model", kind, "failed"))
}

fn tokens(most: u64) -> Meter {
    Meter::new(Budget { tokens: Some(most), ..Budget::default() })
}

/// Calls and tokens. Nothing here costs money.
fn spent(meter: &Meter) -> (u64, u64) {
    let Usage { model_calls, tokens_in, tokens_out, cost_micro_usd } = meter.spent();
    assert_eq!(cost_micro_usd, 0);
    (model_calls, tokens_in + tokens_out)
}

#[tokio::test]
async fn a_call_that_might_not_fit_is_not_made() {
    let (model, asked) = Scripted::of([answered(9, 41), answered(9, 41)]);
    let meter = tokens(50 + MOST - 1);
    let model = Metered::new(model, meter.clone(), None).expect("no prices are needed");
    model.chat(&request()).await.expect("it fits");
    assert_eq!(spent(&meter), (1, 50));
    let error = model.chat(&request()).await.expect_err("99 are left");
    assert_eq!(error.kind, ChatErrorKind::OverBudget(BudgetKind::Tokens));
    assert!(error.message.contains("100 tokens") && error.message.contains("only 99"), "{error}");
    assert_eq!((asked.lock().expect("whole").len(), spent(&meter)), (1, (1, 50)));
}

#[tokio::test]
async fn what_is_under_way_is_set_aside() {
    let (model, _) = Scripted::of([]);
    let model = Metered::new(model, tokens(2 * MOST - 1), None).expect("no prices are needed");
    let asked = request();
    let mut first = model.chat(&asked);
    assert!(futures_util::poll!(&mut first).is_pending());
    let second = model.chat(&asked).now_or_never().expect("refused at once");
    let second = second.expect_err("the first may take it all");
    assert_eq!(second.kind, ChatErrorKind::OverBudget(BudgetKind::Tokens));
}

#[tokio::test]
async fn a_call_of_unknown_cost_counts_in_full() {
    let (model, _) = Scripted::of([answered(0, 0), failed(ChatErrorKind::TimedOut)]);
    let meter = Meter::default();
    let model = Metered::new(model, meter.clone(), None).expect("no prices are needed");
    model.chat(&request()).await.expect("an answer");
    model.chat(&request()).await.expect_err("a time-out");
    assert_eq!(spent(&meter), (2, 2 * MOST));
    // The cost of a cancelled call is unknown.
    let asked = request();
    let mut cancelled = model.chat(&asked);
    assert!(futures_util::poll!(&mut cancelled).is_pending());
    drop(cancelled);
    assert_eq!(spent(&meter), (3, 3 * MOST));
}

#[tokio::test]
async fn a_failure_that_cost_nothing_counts_as_a_call() {
    let (model, _) = Scripted::of([failed(ChatErrorKind::Unavailable), answered(1, 1)]);
    let meter = Meter::new(Budget { model_calls: Some(1), ..Budget::default() });
    let model = Metered::new(model, meter.clone(), None).expect("no prices are needed");
    model.chat(&request()).await.expect_err("it fails");
    assert_eq!(spent(&meter), (1, 0));
    let error = model.chat(&request()).await.expect_err("one call was allowed");
    assert_eq!(error.kind, ChatErrorKind::OverBudget(BudgetKind::ModelCalls));
}

#[tokio::test]
async fn models_share_a_budget_of_money() {
    let prices = Some(Prices::new(1.0, None, 10.0).expect("prices"));
    // At most 9 + 91 * 10 millionths of a dollar for each call.
    let meter = Meter::new(Budget { cost_micro_usd: Some(919 + 100), ..Budget::default() });
    let of = |answers: Vec<Answer>| {
        Metered::new(Scripted::of(answers).0, meter.clone(), prices).expect("priced")
    };
    let (first, second) = (of(vec![answered(10, 9)]), of(vec![answered(11, 9), answered(1, 1)]));
    first.chat(&request()).await.expect("it fits");
    assert_eq!(meter.spent().cost_micro_usd, 100);
    second.chat(&request()).await.expect("it fits exactly");
    assert_eq!(meter.spent().cost_micro_usd, 201);
    let error = second.chat(&request()).await.expect_err("818 are left");
    let said = "may cost 0.000919 US dollars, but only 0.000818 of the budget of 0.001019 are left";
    assert!(error.message.contains(said), "{error}");
}

#[tokio::test]
async fn an_exhausted_call_budget_does_not_suggest_shorter_answers() {
    let meter = Meter::new(Budget { model_calls: Some(1), ..Budget::default() });
    let (model, _) = Scripted::of([answered(1, 1)]);
    let model = Metered::new(model, meter, None).expect("no prices are needed");
    model.chat(&request()).await.expect("it fits");
    let error = model.chat(&request()).await.expect_err("none are left");
    let said = "the budget of 1 request is used up: raise llm.budget.calls";
    assert_eq!(error.message, said);
}

#[test]
fn money_cannot_be_limited_without_prices() {
    let meter = Meter::new(Budget { cost_micro_usd: Some(1), ..Budget::default() });
    let error = Metered::new(Scripted::of([]).0, meter, None).err().expect("no prices");
    assert!(error.to_string().contains("prices = {"), "{error}");
}

#[tokio::test]
async fn what_was_spent_before_counts() {
    let meter = tokens(MOST);
    meter.charge(Usage { tokens_in: 1, ..Usage::default() });
    let (model, _) = Scripted::of([answered(1, 1)]);
    let model = Metered::new(model, meter, None).expect("no prices are needed");
    assert_eq!(
        model.chat(&request()).await.expect_err("99 left").kind,
        ChatErrorKind::OverBudget(BudgetKind::Tokens)
    );
}

async fn times(limits: RateLimits, calls: usize) -> Vec<u64> {
    let (model, asked) = Scripted::of((0..calls).map(|_| answered(1, 1)));
    let model = RateLimited::new(model, RateLimiter::new(limits));
    let start = Instant::now();
    let asking = request();
    for answer in join_all((0..calls).map(|_| model.chat(&asking))).await {
        answer.expect("an answer");
    }
    let asked = asked.lock().expect("whole");
    asked.iter().map(|at| at.duration_since(start).as_secs()).collect()
}

#[tokio::test(start_paused = true)]
async fn requests_wait_for_their_minute() {
    let limits = RateLimits { requests_per_minute: NonZeroU32::new(2), ..RateLimits::default() };
    assert_eq!(times(limits, 5).await, [0, 0, 60, 60, 120]);
}

#[tokio::test(start_paused = true)]
async fn tokens_wait_for_their_minute() {
    let of =
        |most| RateLimits { tokens_per_minute: NonZeroU64::new(most), ..RateLimits::default() };
    assert_eq!(times(of(2 * MOST + 50), 3).await, [0, 0, 60]);
    // More than a minute allows: each has a minute of its own.
    assert_eq!(times(of(MOST - 1), 2).await, [0, 60]);
}

#[tokio::test]
async fn no_more_calls_than_allowed_are_under_way() {
    let (model, asked) = Scripted::of([]);
    let limits = RateLimits { concurrent: NonZeroU32::new(2), ..RateLimits::default() };
    let model = RateLimited::new(model, RateLimiter::new(limits));
    let asking = request();
    let mut calls: Vec<_> = (0..3).map(|_| model.chat(&asking)).collect();
    for call in &mut calls {
        assert!(futures_util::poll!(call).is_pending());
    }
    assert_eq!(asked.lock().expect("whole").len(), 2);
    drop(calls.remove(0));
    assert!(futures_util::poll!(&mut calls[1]).is_pending());
    assert_eq!(asked.lock().expect("whole").len(), 3);
}

async fn attempts(answers: Vec<Answer>) -> (Answer, Vec<u64>) {
    let (model, asked) = Scripted::of(answers);
    let start = Instant::now();
    let answer = Retrying::new(model, RetryPolicy::default()).chat(&request()).await;
    let asked = asked.lock().expect("whole");
    (answer, asked.iter().map(|at| at.duration_since(start).as_secs()).collect())
}

#[tokio::test(start_paused = true)]
async fn waits_double_and_end() {
    let unavailable = || failed(ChatErrorKind::Unavailable);
    let (answer, times) = attempts(vec![unavailable(), unavailable(), unavailable()]).await;
    assert_eq!(answer.expect_err("three failures").kind, ChatErrorKind::Unavailable);
    assert_eq!(times, [0, 1, 3]);
}

#[tokio::test(start_paused = true)]
async fn a_longer_wait_is_kept_if_the_provider_asks_for_it() {
    let limited = |seconds| {
        let error = ChatError::new("test/model", ChatErrorKind::RateLimited, "too many");
        Err(ChatError { retry_after: Some(Duration::from_secs(seconds)), ..error })
    };
    let (answer, times) = attempts(vec![limited(40), answered(1, 1)]).await;
    assert_eq!((answer.is_ok(), times), (true, vec![0, 40]));
    // The wait exceeds the limit.
    let (answer, times) = attempts(vec![limited(4000), answered(1, 1)]).await;
    let said = answer.expect_err("it is too long").message;
    assert!(said.ends_with("a delay of 4000 s, and the limit is 120 s"), "{said}");
    assert_eq!(times, [0]);
}

#[tokio::test(start_paused = true)]
async fn only_long_waits_are_reported() {
    let limited = |seconds| {
        let error = ChatError::new("test/model", ChatErrorKind::RateLimited, "too many");
        Err(ChatError { retry_after: Some(Duration::from_secs(seconds)), ..error })
    };
    let (model, _) = Scripted::of([limited(2), limited(40), answered(1, 1)]);
    let notices: Arc<Mutex<Vec<String>>> = Arc::default();
    let notice = Notice::new({
        let notices = notices.clone();
        move |line| notices.lock().expect("whole").push(line.to_owned())
    });
    let model = Retrying::new(model, RetryPolicy::default()).notifying(Some(notice));
    model.chat(&request()).await.expect("the third");
    assert_eq!(*notices.lock().expect("whole"), ["test/model: too many; retrying in 40 s"]);
}

#[tokio::test(start_paused = true)]
async fn a_host_that_was_never_reached_is_given_up_and_one_that_was_is_not() {
    let gone = || failed(ChatErrorKind::Unreachable);
    let at = |answers: Vec<Answer>, reach: &Reach| {
        let (model, asked) = Scripted::of(answers);
        (Retrying::new(model, RetryPolicy::default()).at(reach.clone()), asked)
    };
    let reach = Reach::default();
    let (first, asked) = at(vec![gone(), gone(), gone(), answered(1, 1)], &reach);
    first.chat(&request()).await.expect_err("three attempts");
    let said = first.chat(&request()).await.expect_err("given up").message;
    assert!(said.contains("could not be reached before"), "{said}");
    // Another model of the same host.
    let (second, other) = at(vec![answered(1, 1)], &reach);
    second.chat(&request()).await.expect_err("given up");
    assert_eq!((asked.lock().expect("whole").len(), other.lock().expect("whole").len()), (3, 0));

    let reach = Reach::default();
    let mut answers = vec![failed(ChatErrorKind::Unavailable)];
    answers.extend([gone(), gone(), answered(1, 1)]);
    let (model, _) = at(answers, &reach);
    model.chat(&request()).await.expect_err("three attempts");
    model.chat(&request()).await.expect("it is asked again");
}

#[tokio::test(start_paused = true)]
async fn what_does_not_pass_is_not_tried_again_and_waste_is_counted() {
    let (answer, times) = attempts(vec![failed(ChatErrorKind::NotAllowed), answered(1, 1)]).await;
    assert_eq!((answer.is_ok(), times), (false, vec![0]));
    let usage = TokenUsage { calls: 1, input: 5, ..TokenUsage::default() };
    let wasted = ChatError::new("test/model", ChatErrorKind::TimedOut, "late");
    let (answer, _) = attempts(vec![Err(ChatError { usage, ..wasted }), answered(10, 1)]).await;
    let usage = answer.expect("the second").usage;
    assert_eq!((usage.calls, usage.input), (2, 15));
}

/// A purse with a fixed reply, which notes what was taken and settled.
#[derive(Debug, Default)]
struct FixedPurse {
    refuses: Option<PurseError>,
    taken: Mutex<Vec<Usage>>,
    settled: Mutex<Vec<(Usage, Usage)>>,
}

impl Purse for FixedPurse {
    fn take(&self, most: Usage) -> BoxFuture<'_, Result<(), PurseError>> {
        Box::pin(async move {
            match &self.refuses {
                Some(error) => Err(error.clone()),
                None => {
                    self.taken.lock().expect("whole").push(most);
                    Ok(())
                }
            }
        })
    }

    fn settle(&self, taken: Usage, used: Usage) -> BoxFuture<'_, Result<(), PurseError>> {
        Box::pin(async move {
            self.settled.lock().expect("whole").push((taken, used));
            Ok(())
        })
    }
}

fn sharing(meter: &Meter, purse: FixedPurse) -> Arc<FixedPurse> {
    let purse = Arc::new(purse);
    meter.share(purse.clone()).expect("there is none yet");
    meter.share(purse.clone()).expect_err("there is one");
    purse
}

#[tokio::test]
async fn the_most_is_taken_from_a_shared_purse_and_what_was_not_used_put_back() {
    // The budget of this process does not count any more: another one may have raised it.
    let meter = tokens(1);
    let answers = [answered(9, 41), failed(ChatErrorKind::Unavailable)];
    let (model, asked) = Scripted::of(answers);
    let model = Metered::new(model, meter.clone(), None).expect("no prices are needed");
    let purse = sharing(&meter, FixedPurse::default());
    meter.charge(Usage { model_calls: 7, ..Usage::default() });
    model.chat(&request()).await.expect("it fits");
    model.chat(&request()).await.expect_err("it fails");
    // The cost of a cancelled call is unknown.
    let asked_now = request();
    let mut cancelled = model.chat(&asked_now);
    assert!(futures_util::poll!(&mut cancelled).is_pending());
    drop(cancelled);
    let most = Usage { model_calls: 1, tokens_in: 9, tokens_out: 91, ..Usage::default() };
    let used = Usage { model_calls: 1, tokens_in: 9, tokens_out: 41, ..Usage::default() };
    let call = Usage { model_calls: 1, ..Usage::default() };
    assert_eq!(*purse.taken.lock().expect("whole"), [most; 3]);
    assert_eq!(*purse.settled.lock().expect("whole"), [(most, used), (most, call)]);
    assert_eq!((asked.lock().expect("whole").len(), meter.spent().model_calls), (3, 10));
}

#[tokio::test]
async fn what_a_shared_purse_refuses_is_not_sent() {
    let short = Short { kind: BudgetKind::Tokens, limit: 500, left: 99, most: 100 };
    let unreachable = PurseError::Unreachable("no leader".to_owned());
    for (refused, kind, said) in [
        (
            PurseError::Short(short),
            ChatErrorKind::OverBudget(BudgetKind::Tokens),
            "only 99 of the budget of 500 are left",
        ),
        (unreachable, ChatErrorKind::Uncounted, "cannot be looked up: no leader"),
    ] {
        let meter = Meter::default();
        let purse = sharing(&meter, FixedPurse { refuses: Some(refused), ..FixedPurse::default() });
        let (model, asked) = Scripted::of([]);
        let model = Metered::new(model, meter.clone(), None).expect("no prices are needed");
        let error = model.chat(&request()).await.expect_err("it is refused");
        assert_eq!((error.kind, error.transient), (kind, false));
        assert!(error.message.contains(said), "{error}");
        assert_eq!(meter.spent(), Usage::default());
        assert!(asked.lock().expect("whole").is_empty());
        assert!(purse.settled.lock().expect("whole").is_empty());
    }
}
