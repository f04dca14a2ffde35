//! `cargo run -p tour`: lists the steps of the tour, or runs one, or all.
//!
//! `cargo run -p tour`：列出导览的各个步骤，或者运行其中一步，或者全部运行。

use std::env;
use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;

use tour::lang::{Lang, Text};
use tour::timeline::Timeline;
use tour::{STEPS, Step};

const USAGE: Text = Text {
    en: "\
cargo run -p tour              lists the steps
cargo run -p tour -- STEP      runs one, by its number or its name, and prints its timeline
cargo run -p tour -- all       runs all of them

    --lang zh                  prints in Chinese; `--lang en` in English, the default",
    zh: "\
cargo run -p tour              列出所有步骤
cargo run -p tour -- STEP      按编号或名字运行其中一步，并打印时间线
cargo run -p tour -- all       全部运行

    --lang zh                  用中文输出；`--lang en` 用英文，也是默认值",
};

fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    let request = match Request::parse(&words) {
        Ok(request) => request,
        Err(why) => {
            eprintln!("{why}");
            return ExitCode::from(2);
        }
    };
    let mut out = io::stdout();
    let lang = request.lang;
    let done = match request.choice {
        Choice::List => list(lang, &mut out),
        Choice::Run(steps) => steps.iter().try_for_each(|step| run(step, lang, &mut out)),
    };
    match done {
        Err(why) if why.kind() != ErrorKind::BrokenPipe => {
            eprintln!("cannot write to the terminal: {why}");
            ExitCode::FAILURE
        }
        // A reader such as `head` that closes the pipe early is no failure.
        _ => ExitCode::SUCCESS,
    }
}

/// What the visitor asked for.
struct Request {
    lang: Lang,
    choice: Choice,
}

enum Choice {
    List,
    Run(&'static [Step]),
}

impl Request {
    /// Reads the words of the command line. `--lang` may stand before or after the step.
    fn parse(words: &[String]) -> Result<Request, String> {
        let mut lang = Lang::default();
        let mut rest = Vec::new();
        let mut words = words.iter().map(String::as_str);
        while let Some(word) = words.next() {
            let name = match word.strip_prefix("--lang") {
                Some("") => words.next().unwrap_or_default(),
                Some(name) if name.starts_with('=') => &name[1..],
                _ => {
                    rest.push(word);
                    continue;
                }
            };
            let unknown = || format!("no language `{name}`: `en` and `zh` are there");
            lang = Lang::parse(name).ok_or_else(unknown)?;
        }
        Ok(Request { lang, choice: Choice::parse(&rest, lang)? })
    }
}

impl Choice {
    fn parse(words: &[&str], lang: Lang) -> Result<Choice, String> {
        let usage = USAGE.to(lang);
        match words {
            [] | ["-h" | "--help" | "help" | "list"] => Ok(Choice::List),
            ["all"] => Ok(Choice::Run(STEPS)),
            [word] => find(word, lang).map(|index| Choice::Run(&STEPS[index..=index])),
            _ => Err(match lang {
                Lang::English => format!("one step at a time, please:\n\n{usage}"),
                Lang::Chinese => format!("请一次走一步：\n\n{usage}"),
            }),
        }
    }
}

/// Finds a step by number, by name, or by folder.
fn find(word: &str, lang: Lang) -> Result<usize, String> {
    let word = word.trim_end_matches('/');
    let is_meant = |step: &Step| {
        word == step.folder || word == step.name() || word.parse() == Ok(step.number())
    };
    STEPS.iter().position(is_meant).ok_or_else(|| {
        let names = STEPS.iter().map(|step| format!("  {:>2}  {}", step.number(), step.name()));
        let names = names.collect::<Vec<_>>().join("\n");
        let why = match lang {
            Lang::English => format!("there is no step `{word}`; a step has a number or a name:"),
            Lang::Chinese => format!("没有 `{word}` 这一步；步骤用编号或名字来指定："),
        };
        format!("{why}\n\n{names}\n\n{}", USAGE.to(lang))
    })
}

fn list(lang: Lang, out: &mut impl Write) -> io::Result<()> {
    match lang {
        Lang::English => writeln!(out, "How an async runtime works, in {} steps:\n", STEPS.len())?,
        Lang::Chinese => writeln!(out, "异步运行时是怎么工作的，一共 {} 步：\n", STEPS.len())?,
    }
    let width = STEPS.iter().map(|step| step.name().len()).max().unwrap_or(0);
    for step in STEPS {
        writeln!(out, "  {:>2}  {:<width$}  {}", step.number(), step.name(), step.about.to(lang))?;
    }
    writeln!(out, "\n{}\n", USAGE.to(lang))?;
    match lang {
        Lang::English => writeln!(
            out,
            "Each has a page, tour/NN-name/README.md; in Chinese README.zh-CN.md, or `--lang zh`."
        ),
        Lang::Chinese => writeln!(out, "每一步都有一篇讲解：tour/NN-name/README.zh-CN.md。"),
    }
}

fn run(step: &Step, lang: Lang, out: &mut impl Write) -> io::Result<()> {
    let (number, about) = (step.number(), step.about.to(lang));
    match lang {
        Lang::English => writeln!(out, "Step {number}: {about}")?,
        Lang::Chinese => writeln!(out, "第 {number} 步：{about}")?,
    }
    let timeline = Timeline::new();
    (step.run)(&timeline);
    writeln!(out, "{}", timeline.printed_in(lang))?;
    let page = format!("tour/{}/{}", step.folder, lang.page());
    match lang {
        Lang::English => writeln!(out, "Explained in {page}\n"),
        Lang::Chinese => writeln!(out, "讲解见 {page}\n"),
    }
}
