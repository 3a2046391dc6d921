//! Exit codes, as the help of commands lists them.

macro_rules! exit_codes {
    () => {
        "\
Exit codes:
  0    diagnosed: an origin that explains at least one alert was found
  1    output could not be written, not a single evaluation led to a decision, or recorded
       traffic of models lacks an answer
  2    wrong command line, or an output path that is already in use (--journal, --memory, --out)
  3    inconclusive: no origin found; the report ranks the candidates
  4    the input cannot be used, or with --strict a part of it; the message names the file,
       the place and the reason
  130  interrupted (Ctrl-C, SIGTERM, SIGHUP); what was found so far is reported"
    };
}

pub(super) const EXIT_CODES: &str = exit_codes!();

pub(super) const READING_CODES: &str = "\
Exit codes:
  0    printed
  1    output could not be written
  2    wrong command line
  4    a ledger or PATH cannot be used; the message names the file, the place and the reason";

macro_rules! printing_codes {
    () => {
        "\
Exit codes:
  0    printed
  1    output could not be written
  2    wrong command line"
    };
}

pub(super) const PRINTING_CODES: &str = printing_codes!();

macro_rules! writing_codes {
    () => {
        "\
Exit codes:
  0    written
  1    output could not be written
  2    wrong command line, or the output exists already"
    };
}

pub(super) const WRITING_CODES: &str = writing_codes!();

pub(super) use {exit_codes, printing_codes, writing_codes};
