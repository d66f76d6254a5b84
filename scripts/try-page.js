// Clicks through pages that `scripts/try-page` made: buttons, slider, keys, links, zoom; and prints one. Ends with 1 at the first thing that is not so.
const assert = require('node:assert');
const path = require('node:path');
const puppeteer = require('puppeteer-core');

const [browserPath, folder] = process.argv.slice(2);

async function main() {
  const browser = await puppeteer.launch({ executablePath: browserPath, headless: true, args: ['--no-sandbox', '--disable-gpu'] });
  const open = async (name) => {
    const page = await browser.newPage();
    const faults = [];
    page.on('pageerror', (error) => faults.push(String(error)));
    page.on('request', (request) => request.url().startsWith('file:') || faults.push(`it asks for ${request.url()}`));
    await page.setViewport({ width: 1100, height: 900 });
    await page.goto('file://' + path.join(folder, name));
    return { page, faults };
  };

  // A run: forward and back by buttons, slider and keys.
  {
    const { page, faults } = await open('fig2_cex.html');
    const now = () => page.$eval('.now', (n) => n.textContent);
    const last = await now();
    assert.match(last, /step 4 of 4/, last);
    await page.click('button.first');
    assert.doesNotMatch(await now(), /step [1-9]/, 'the first button leads to the start');
    await page.click('button.on');
    assert.match(await now(), /step 1 of 4/);
    const value = (name) => page.$$eval('.values tr', (rows, wanted) => {
      const row = rows.find((r) => r.cells[0] && r.cells[0].textContent === wanted);
      return row && row.cells[1].textContent;
    }, name);
    assert.strictEqual(await value('created'), 'false → true', 'the variable has changed in the first step');
    await page.click('button.back');
    assert.strictEqual(await value('created'), 'false', 'and back');
    await page.focus('input[type=range]');
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('ArrowRight');
    assert.match(await now(), /step 2 of 4/, 'keys step, too');
    await page.click('button.last');
    assert.match(await now(), /step 4 of 4/);
    const violated = await page.$$eval('.line.violated .number', (n) => n.map((e) => e.textContent));
    assert.deepStrictEqual(violated, ['20'], 'the line that fails is marked');
    assert.ok((await page.$$('.line')).length > 15, 'the source is listed');
    const signs = await page.$$eval('.line', (lines) => lines.filter((l) => l.querySelector('.status').title).length);
    assert.ok(signs >= 5, `lines with steps have a status (${signs})`);
    await page.setViewport({ width: 420, height: 900 });
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    assert.ok(overflow <= 0, `on a narrow screen nothing stands beside the page (${overflow} pixels)`);
    await page.screenshot({ path: path.join(folder, 'narrow.png') });
    await page.setViewport({ width: 1100, height: 900 });
    await page.screenshot({ path: path.join(folder, 'run.png') });
    assert.deepStrictEqual(faults, []);
  }

  // A heap: it changes from step to step, and objects stay where they are.
  {
    const { page, faults } = await open('treiber_pop_store.html');
    const drawn = () => page.$$eval('.run svg text', (texts) => texts.map((t) => [t.textContent, t.getAttribute('x'), t.getAttribute('y')].join('@')).join('|'));
    const seen = new Set();
    const places = new Map();
    await page.click('button.first');
    for (let i = 0; i < 40; i++) {
      await page.click('button.on');
      const text = await drawn();
      seen.add(text);
      for (const part of text.split('|').filter((t) => /^Node#\d+@/.test(t))) {
        const [name, ...place] = part.split('@');
        if (places.has(name)) assert.strictEqual(place.join(), places.get(name), `${name} moved`);
        places.set(name, place.join());
      }
    }
    assert.ok(seen.size > 3, `the heap changes (${seen.size} pictures)`);
    await page.screenshot({ path: path.join(folder, 'heap.png') });
    assert.deepStrictEqual(faults, []);
  }

  // A proof: its rule, what it rests on, pictures that zoom; and the page in print.
  {
    const { page, faults } = await open('treiber.html');
    const text = await page.$eval('body', (b) => b.innerText);
    for (const word of ['Proof', 'rule', 'Taken for granted', 'linearizable']) assert.ok(text.includes(word), word);
    const width = () => page.$eval('.pictures svg', (svg) => svg.getBoundingClientRect().width);
    const before = await width();
    await page.click('.pictures button.larger');
    assert.ok((await width()) > before * 1.4, 'the picture is larger');
    await page.click('.pictures button.smaller');
    await page.click('.pictures button.smaller');
    assert.ok((await width()) < before, 'the picture is smaller');
    await page.click('.pictures button.fitting');
    assert.ok(Math.abs((await width()) - before) < 1, 'the picture is as before');
    await page.screenshot({ path: path.join(folder, 'proof.png') });
    await page.pdf({ path: path.join(folder, 'proof.pdf') });
    assert.deepStrictEqual(faults, []);
  }
  await browser.close();
  console.log('try-page: a run, a heap and a proof were clicked through');
}

main().catch((error) => {
  console.error(String(error.stack || error));
  process.exit(1);
});
