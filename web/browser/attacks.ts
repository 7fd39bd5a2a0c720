// Texts that attack the page that shows them. What one of them runs calls `window.ran`, or asks another server.

const AWAY = 'http://127.0.0.2:9/';
const RUN = "window.ran('x')";

function filled(piece: string, length = 100_000): string {
  return piece.repeat(Math.ceil(length / piece.length)).slice(0, length);
}

/** A text in lines that Markdown reads. */
function lines(piece: string, length = 100_000): string {
  const whole = filled(piece, length);
  return (whole.match(/[\s\S]{1,9000}/g) ?? []).join('\n');
}

/** Scripts in all the forms that have worked somewhere. */
export const SCRIPTS: Record<string, string> = {
  script: `<script>${RUN}</script>`,
  image: `<img src=x onerror="${RUN}"><img src="${AWAY}img">`,
  svg: `<svg onload="${RUN}"><script>${RUN}</script><use href="data:image/svg+xml,<svg/>#x"/><animate onbegin=${RUN} attributeName=x dur=1s></svg>`,
  frame: `<iframe srcdoc="<script>parent.ran('x')</script>"></iframe><iframe src="javascript:parent.ran('x')"></iframe>`,
  object: `<object data="${AWAY}object"></object><embed src="${AWAY}embed"><link rel=stylesheet href="${AWAY}css">`,
  handler: `<details open ontoggle="${RUN}"><summary>x</summary></details><input autofocus onfocus="${RUN}">`,
  form: `<form action="${AWAY}form"><button formaction="javascript:${RUN}">Send</button></form><base href="${AWAY}">`,
  style: `<style>@import "${AWAY}style"; * { background: url(${AWAY}back) }</style><div style="background:url(${AWAY}div)">`,
  meta: `<meta http-equiv=refresh content="0;url=${AWAY}meta"><meta http-equiv=refresh content="0;url=javascript:${RUN}">`,
  links: `[a](javascript:${RUN}) [b](JaVaScRiPt:${RUN}) [c](java\nscript:${RUN}) [d](&#106;avascript:${RUN}) [e](data:text/html,<script>${RUN}</script>) [f](vbscript:x) [g](//127.0.0.2:9/h) [h](/v1/models) [i](\u0001javascript:${RUN}) [j](file:///etc/passwd) [k](blob:x) [l](view-source:http://a) <javascript:${RUN}> <data:text/html,x>`,
  reference: `[a][1] ![b][2]\n\n[1]: javascript:${RUN}\n[2]: ${AWAY}reference ""><img src=x onerror=${RUN}>"`,
  pictures: `![a](${AWAY}pic) ![b](data:image/svg+xml,<svg/onload=${RUN}>) ![c](javascript:${RUN}) ![" onerror="${RUN}](x)`,
  title: `[x](http://a.example "\\" onmouseover=\\"${RUN}")`,
  code: `\`\`\`"><img src=x onerror=${RUN}>\n</code></pre><script>${RUN}</script>\n\`\`\`\n\`\`\`html\n<script>${RUN}</script><img src="${AWAY}code">\n\`\`\`\n\`<img src=x onerror=${RUN}>\``,
  formula: `$\\href{javascript:${RUN}}{x}$ $\\url{javascript:${RUN}}$ $\\includegraphics{${AWAY}math}$ $\\htmlClass{x}{y}$ $\\style{background:url(${AWAY}mathstyle)}{x}$ $\\text{<img src=x onerror=${RUN}>}$ $\\class{" onload="${RUN}}{x}$`,
  table: `| <img src=x onerror=${RUN}> | [x](javascript:${RUN}) |\n| --- | --- |\n| <script>${RUN}</script> | "onload=${RUN} |`,
  nested: `<<script>script>${RUN}<</script>/script>\n<!--><img src=x onerror=${RUN}>-->\n<![CDATA[<script>${RUN}</script>]]>\n<?xml-stylesheet href="${AWAY}xml"?>`,
  template: `{{constructor.constructor("${RUN}")()}} \${${RUN}} <%= ${RUN} %> #{${RUN}}`,
  prototype:
    '__proto__ constructor toString hasOwnProperty [__proto__](http://a.example)\n\n[__proto__]: x\n[constructor]: y',
  bidi: 'access \u202e\u2066// no user\u2069 \u2066begin user\u2069 \u200f\u061c\u202dturned\u202c and never closed \u202e\u2067\u202b',
  ansi: '\u001b[31mred\u001b[0m \u001b]8;;http://a.example\u0007link\u001b]8;;\u0007 \u001b[2J\u001b[H \u009b1m \u001b]0;title\u001b\\ \u0000\u0008\u007f',
  invisible: 'a\u200bb\u200cc\u2060d\ufeffe \u{e0041}\u{e0042} \u{e007f} ﷽ \ufffe\uffff \u{10ffff}',
};

/** Texts that take long to read, to draw or to place. */
export const BOMBS: Record<string, string> = {
  'a line of 1 MB': filled('x', 1_000_000),
  'a line of 1 MB with spaces': filled('word ', 1_000_000),
  '200,000 empty lines': '\n'.repeat(200_000),
  '60,000 lines': 'a\n'.repeat(60_000),
  'a word of 90,000 letters': `${filled('long', 90_000)} end`,
  'marks over one letter': `a${'\u0301\u0316'.repeat(40_000)}`,
  'only signs of direction': filled('\u202e\u2066', 90_000),
  'signs of direction between letters': filled('\u202ea\u202c', 90_000),
  'only sequences of terminals': filled('\u001b[31m\u001b[', 200_000),
  'many emoji': filled('👩‍👩‍👧‍👦🏳️‍🌈', 60_000),
  'right to left in left to right': filled('abc שלום ', 90_000),
  'links that do not end': lines('[a]('),
  links: lines('[a](http://b.example) '),
  emphasis: lines('*a* '),
  'open emphasis': lines('a**b*c_ '),
  code: lines('`a` '),
  'open code': lines(Array.from({ length: 190 }, (_, at) => `${'`'.repeat(at + 1)}a`).join(' ')),
  'fenced code': '```rust\nfn a() {}\n```\n'.repeat(4000),
  'long code': `\`\`\`javascript\n${'const a = { b: [1, "two", /3/] }; // four\n'.repeat(2000)}\`\`\``,
  'code on one line': `\`\`\`json\n${filled('{"a":[', 49_000)}\n\`\`\``,
  tags: lines('<b>a'),
  'open tags': lines('<a '),
  addresses: lines('http://a.example '),
  headings: '# a\n'.repeat(20_000),
  paragraphs: 'a\n\n'.repeat(30_000),
  rules: '---\n\n'.repeat(20_000),
  'a long list': '- a\n'.repeat(20_000),
  'a deep list': Array.from({ length: 290 }, (_, at) => `${'  '.repeat(at)}- a`).join('\n'),
  'deep quotations': `${'>'.repeat(5000)} a\n`.repeat(20),
  'quotations in lists': `${'> - '.repeat(1200)}a`,
  'many quotations': '> a\n\n'.repeat(15_000),
  'a wide table': `${'|a'.repeat(2400)}|\n${'|-'.repeat(2400)}|\n${'|a|\n'.repeat(20_000)}`,
  'a long table': `|a|b|\n|-|-|\n${'|a|b|\n'.repeat(15_000)}`,
  formulas: lines('$x$ '),
  'open formulas': lines('$$a '),
  'blocks of formulas': '$$\nx\n$$\n'.repeat(10_000),
  'open blocks of formulas': '\\[\n'.repeat(30_000),
  'a deep formula': `$$${'\\frac{1}{'.repeat(2000)}x${'}'.repeat(2000)}$$`,
  'a formula of fractions': `$$${'\\frac{1}{'.repeat(190)}x${'}'.repeat(190)}$$`,
  'formulas of powers': `$$${'x^{'.repeat(38)}x${'}'.repeat(38)}$$\n\n`.repeat(300),
  'a formula of powers': `$$${'x^{'.repeat(2500)}x${'}'.repeat(2500)}$$`,
  'a long formula': `$$${filled('\\alpha+', 9000)}$$`,
  'a macro that doubles': `$$\\def\\a{xx}\\def\\b{\\a\\a}\\def\\c{\\b\\b}\\def\\d{\\c\\c}\\def\\e{\\d\\d}\\def\\f{\\e\\e}\\def\\g{\\f\\f}\\def\\h{\\g\\g}\\def\\i{\\h\\h}\\def\\j{\\i\\i}${'\\j'.repeat(40)}$$`,
  'a macro that calls itself': '$$\\def\\a{\\a\\a}\\a$$',
  'a huge rule': '$$\\rule{99999999em}{99999999em}\\kern99999999em\\raisebox{9999999em}{x}$$',
  'a large matrix': `$$\\begin{matrix}${filled('a&', 8000)}a\\end{matrix}$$`,
  definitions: '[a]: b\n'.repeat(14_000),
  entities: lines('&amp;&#x202e;&#0;&#xd800;&#x110000;'),
  escapes: lines('\\*'),
};
