//! The web page of `verify --html`: everything is in it, nothing is fetched, and a real browser steps through it where there is one.

use crate::{Scratch, code, stdout, threadproof};
use std::process::Command;

const RACY: &str = "var count: int = 0;
var noise: int = 0;
thread Add[2] {
  var c: int;
  c := count;
  noise := 1;
  count := c + 1;
}
thread Check { assert count < 2 || noise == 0; }
";

fn page(scratch: &Scratch, name: &str, text: &str, flags: &[&str]) -> String {
    let (source, html) = (scratch.file(name, text), scratch.path("out.html"));
    let output = threadproof(&[&["verify", &source, "--html", &html], flags].concat());
    assert!(code(&output) <= 2, "{}", stdout(&output));
    std::fs::read_to_string(html).expect("the page is there")
}

/// Every element that is opened is closed, in order.
fn unbalanced(html: &str) -> Option<String> {
    const VOID: [&str; 3] = ["meta", "input", "br"];
    let mut open: Vec<String> = Vec::new();
    let mut rest = html;
    while let Some(at) = rest.find('<') {
        rest = &rest[at + 1..];
        if rest.starts_with('!') {
            continue;
        }
        let end = rest.find('>')?;
        let (tag, after) = (&rest[..end], &rest[end + 1..]);
        let name: String = tag.trim_start_matches('/').chars().take_while(char::is_ascii_alphanumeric).collect();
        rest = after;
        if name == "script" && !tag.starts_with('/') {
            rest = &rest[rest.find("</script>")? + "</script>".len()..];
        } else if tag.starts_with('/') {
            if open.pop().as_deref() != Some(&name) {
                return Some(name);
            }
        } else if !tag.ends_with('/') && !VOID.contains(&name.as_str()) {
            open.push(name);
        }
    }
    open.pop()
}

#[test]
fn check_the_page_has_verdicts_source_lanes_and_needs_no_network() {
    let scratch = Scratch::new("html");
    let html = page(&scratch, "racy.tp", RACY, &["--method", "explore"]);
    assert_eq!(unbalanced(&html), None);
    for outside in ["http://", "https://", "src=", "@import", "url("] {
        let own = html.replace("http://www.w3.org/2000/svg", "").replace("url(#tip)", "");
        assert!(!own.contains(outside), "the page asks for something outside: {outside}");
    }
    assert!(html.contains("<td class=\"verdict unsafe\">unsafe</td>"), "{html}");
    // The failing line is marked, and each line can be linked to.
    assert!(html.contains("<div class=\"line violated\" id=\"f0s0l9\">"), "{html}");
    assert!(html.contains("<th>1 Add</th><th>2 Add</th><th>3 Check</th><th>changes</th>"), "{html}");
    assert!(html.contains("type=\"range\" min=\"0\"") && html.contains("aria-label=\"one step back\""), "{html}");
    assert!(html.contains("@media print"), "it can be printed");
}

#[test]
fn check_what_a_proof_knows_stands_at_its_lines() {
    let scratch = Scratch::new("html-facts");
    let text = "var m: lock;\nvar x: int = 0;\nthread T[*] {\n  acquire m;\n  x := x + 1;\n  assert x == 1;\n  x := x - 1;\n  release m;\n}\n";
    let html = page(&scratch, "locked.tp", text, &["--method", "rely"]);
    assert!(html.contains("<h2>Proof</h2>") && html.contains("obligations by"), "{html}");
    assert!(html.contains("class=\"line proved\" id=\"f0s0l6\""), "{html}");
    assert!(html.contains("class=\"fact\"") || html.contains("<h3>What T relies on"), "{html}");
    assert_eq!(unbalanced(&html), None);
}

/// The class of each line that has a status, by its number.
fn statuses(html: &str) -> Vec<(usize, String)> {
    let lines = html.split("<div class=\"line ").skip(1).filter_map(|part| {
        let class = part.split('"').next()?.to_string();
        let number = part.split("class=\"number\">").nth(1)?.split('<').next()?.parse().ok()?;
        (!class.is_empty()).then_some((number, class))
    });
    lines.collect()
}

#[test]
fn check_every_line_with_code_has_a_status() {
    let scratch = Scratch::new("html-lines");
    let text = "var x: int = 0;\n\n// nothing\nthread A {\n  x := 1;\n  if x == 2 {\n    x := 3;\n  }\n  assert x >= 0;\n}\n\
                thread B {\n  atomic {\n    x := x * 1;\n  }\n  assert x != 1;\n}\n";
    let html = page(&scratch, "lines.tp", text, &["--method", "explore"]);
    let wanted = [(5, "reached"), (6, "reached"), (7, "unreached"), (9, "proved"), (13, "reached"), (15, "violated")];
    let wanted: Vec<(usize, String)> = wanted.map(|(n, class)| (n, class.to_string())).into();
    assert_eq!(statuses(&html), wanted, "{html}");
    // Of C, with lines that only some run of a loop without end would come to, and one outside the model.
    let text =
        "int x;\nint main(void) {\n    x = 1;\n    if (x == 2)\n        x = 3;\n    for (;;)\n        x = 1;\n}\n";
    let html = page(&scratch, "lines.c", text, &[]);
    let found = statuses(&html);
    assert!(found.contains(&(3, "reached".into())) && found.contains(&(5, "unreached".into())), "{found:?}");
    let text = "object Cell {\n  spec {\n    var v: int := 0;\n    put(n: int) { v := n; }\n  }\n  var v: int = 0;\n  op put(n: int) {\n    v := n;\n  }\n}\n";
    let html = page(&scratch, "cell.tp", text, &[]);
    assert!(statuses(&html).contains(&(8, "reached".into())), "calls from outside reach it: {:?}", statuses(&html));
}

#[test]
fn check_text_of_a_program_is_never_markup() {
    let scratch = Scratch::new("html-escape");
    let text = "// </script><script>alert(1)</script>\nvar x: int = 0;\nthread T { x := 1; assert x < 1; }\n";
    let html = page(&scratch, "a&b<i>.tp", text, &[]);
    assert!(!html.contains("<script>alert(1)") && html.contains("&lt;script&gt;alert(1)"), "{html}");
    assert_eq!(unbalanced(&html), None);
}

#[test]
fn check_a_page_that_cannot_be_written_is_74() {
    let scratch = Scratch::new("html-lost");
    let source = scratch.file("x.tp", RACY);
    assert_eq!(code(&threadproof(&["verify", &source, "--html", "/no/such/folder/x.html"])), 74);
}

/// Clicks and keys, as a person would; what was seen is written into the page.
const CLICKS: &str = r#"<script>
const seen = [];
const run = document.querySelector("section.run-section");
const look = what => seen.push(what + ": " + run.querySelector(".now").textContent + " | "
  + [...run.querySelectorAll(".values td.changed")].map(c => c.textContent).join(",") + " | "
  + document.querySelectorAll(".source .current").length);
look("end");
run.querySelector(".back").click(); look("back");
run.querySelector(".first").click(); look("first");
run.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true })); look("key");
const slider = run.querySelector("input[type=range]");
slider.value = 2; slider.dispatchEvent(new Event("input")); look("slider");
const visible = () => [...run.querySelectorAll("tr[data-step]")].filter(r => getComputedStyle(r).display !== "none").length;
const brief = visible();
run.querySelector("input[type=checkbox]").click();
seen.push("rows " + brief + " of " + visible());
const p = document.createElement("pre"); p.id = "seen"; p.textContent = seen.join("\n"); document.body.append(p);
</script></body>"#;

#[test]
fn check_a_browser_steps_through_the_run() {
    let browser = ["chromium", "chromium-browser", "google-chrome"]
        .into_iter()
        .find(|b| Command::new(b).arg("--version").output().is_ok_and(|o| o.status.success()));
    let Some(browser) = browser else {
        eprintln!("skipped: there is no Chromium on this machine");
        return;
    };
    let scratch = Scratch::new("html-browser");
    let text =
        "var x: int = 0;\nvar noise: int = 0;\nthread A {\n  noise := 1;\n  x := 7;\n}\nthread B { assert x == 0; }\n";
    let html = page(&scratch, "b.tp", text, &["--method", "explore"]);
    let clicked = scratch.file("clicked.html", html.replace("</body>", CLICKS));
    let output = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", &format!("file://{clicked}")])
        .output()
        .expect("the browser starts");
    let dom = stdout(&output);
    let seen =
        dom.split("<pre id=\"seen\">").nth(1).and_then(|s| s.split("</pre>").next()).unwrap_or_else(|| panic!("{dom}"));
    let lines: Vec<&str> = seen.lines().collect();
    assert_eq!(lines[0], "end: step 3 of 3: thread 2 B, assert x == 0 |  | 1");
    assert_eq!(lines[1], "back: step 2 of 3: thread 1 A, x := 7 | 0 → 7 | 1");
    assert_eq!(lines[2], "first: before the first step |  | 0");
    // The first step has no part in it, and is passed over.
    assert_eq!(lines[3], "key: step 2 of 3: thread 1 A, x := 7 | 0 → 7 | 1");
    assert_eq!(lines[4], "slider: step 2 of 3: thread 1 A, x := 7 | 0 → 7 | 1");
    assert_eq!(lines[5], "rows 2 of 3");
}
