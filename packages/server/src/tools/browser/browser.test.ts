import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { findBubblewrap } from '../../workspace/index.ts'
import { openTestWorkspaces, type TestWorkspaces } from '../../workspace/workspace.testing.ts'
import { BROWSER_TEST_MS, type BrowserBench, browserIn, HAS_CHROMIUM, pages, withOneTab } from './browser.testing.ts'
import { ActionTimeLimit } from './action-time-limit.ts'
import { SharedBrowser } from './shared-browser.ts'

const shows = HAS_CHROMIUM ? test : test.skip
if (!HAS_CHROMIUM) console.log('browser: not tested, there is no Chromium')

const FORM = `<!doctype html><title>Form</title><h1>Order</h1>
<form action="/done"><label>Name <input name="who" placeholder="your name"></label>
<input type="password" name="pin" value="hunter2"><select name="size"><option value="s">Small</option><option value="l">Large</option></select>
<label><input type="checkbox" name="milk"> With milk</label><input type="hidden" name="h" value="x"><button>Send it</button></form>
<a href="/other">Other page</a> <a href="/other" target="_blank">Own tab</a> <button style="display:none">Unseen</button>
<div id="host"></div><iframe srcdoc="<button>Framed</button>"></iframe>
<script>document.getElementById('host').attachShadow({ mode: 'open' }).innerHTML = '<button>In the shadow</button>'</script>`

const SITE = {
  '/': FORM,
  '/other': '<title>Other</title><p>Hello <a href="/">back</a></p>',
  '/done': (request: { url?: string | undefined }) => `<title>Done</title><pre>${request.url}</pre>`,
}

let here: TestWorkspaces
/** The browser of the tests that neither end nor block it. */
let shared: BrowserBench
beforeAll(async () => {
  here = await openTestWorkspaces()
  shared = await browserIn(here)
})
afterAll(async () => {
  await shared[Symbol.asyncDispose]()
  await here[Symbol.asyncDispose]()
})

shows(
  'pages are opened, inspected, filled in, clicked and read',
  async () => {
    await using site = await pages(SITE)
    const the = await withOneTab(shared)
    const opened = await the.call('navigate', { url: site.url })
    expect(opened).toMatchObject({ kind: 'BrowserObservation', is_error: false, screenshot_data: null })
    expect(opened.text).toBe(`Opened ${site.url}/ (Form) in tab ${the.tab}.`)
    const state = await the.call('get_state')
    expect(state.text).toContain(
      `URL: ${site.url}/\nTitle: Form\nTabs:\n* ${the.tab}: ${site.url}/ (Form)\nElements:\n[0]<input`,
    )
    for (const shown of [
      'placeholder="your name"',
      'Send it',
      'In the shadow',
      'Framed',
      'selected="Small"',
      'With milk',
    ])
      expect(state.text).toContain(shown)
    for (const hidden of ['Unseen', 'hunter2', 'name="h"']) expect(state.text).not.toContain(hidden)

    await the.call('type', { index: the.indexOf(state, 'your name'), text: 'Ada & co' })
    await the.call('type', { index: the.indexOf(state, 'name="size"'), text: 'Large' })
    await the.call('click', { index: the.indexOf(state, 'With milk') })
    const filled = await the.call('get_state')
    for (const shown of ['value="Ada & co"', 'selected="Large"', 'checked']) expect(filled.text).toContain(shown)
    const sent = await the.call('click', { index: the.indexOf(filled, 'Send it') })
    expect(sent.text).toContain(`${site.url}/done?who=Ada+%26+co`)
    expect((await the.call('get_content')).text).toContain('size=l&milk=on')
    expect((await the.call('go_back')).text).toBe(`Went back to ${site.url}/ (Form) in tab ${the.tab}.`)
    expect((await the.call('get_content', { extract_links: true })).text).toMatch(
      new RegExp(`# Order[^]*Links:\\n- \\[Other page\\]\\(${site.url}/other\\)`),
    )
  },
  BROWSER_TEST_MS,
)

shows(
  'tabs are opened, listed, switched and closed',
  async () => {
    await using site = await pages(SITE)
    await using the = await browserIn(here)
    await the.call('navigate', { url: site.url })
    const state = await the.call('get_state')
    const own = await the.call('click', { index: the.indexOf(state, 'Own tab') })
    expect(own.text).toContain(`Now on ${site.url}/other (Other) in tab 2.`)
    expect((await the.call('list_tabs')).text).toBe(`  1: ${site.url}/ (Form)\n* 2: ${site.url}/other (Other)`)
    await the.call('switch_tab', { tab_id: '1' })
    const again = await the.call('get_state')
    await the.call('click', { index: the.indexOf(again, 'Other page'), new_tab: true })
    expect((await the.call('list_tabs')).text).toContain(`* 3: ${site.url}/other`)
    expect((await the.call('close_tab', { tab_id: '3' })).text).toMatch(/Closed tab 3/)
    expect(await the.call('switch_tab', { tab_id: '9' })).toMatchObject({
      is_error: true,
      text: expect.stringContaining('Tabs: 1, 2'),
    })
    await the.call('close_tab', { tab_id: '1' })
    await the.call('close_tab', { tab_id: '2' })
    expect(await the.call('get_state')).toMatchObject({
      is_error: true,
      text: expect.stringContaining('Every tab is closed'),
    })
    expect(await the.call('navigate', { url: site.url })).toMatchObject({ is_error: false })
  },
  BROWSER_TEST_MS,
)

shows(
  'an impossible action is reported, and the browser stays usable',
  async () => {
    await using site = await pages({ '/': FORM, '/long': `<p>${'word '.repeat(30_000)}</p>` })
    const the = await withOneTab(shared)
    await the.call('navigate', { url: 'about:blank' })
    expect(await the.call('click', { index: 0 })).toMatchObject({
      is_error: true,
      text: expect.stringContaining('browser_get_state'),
    })
    for (const url of ['file:///etc/passwd', 'chrome://version', 'javascript:alert(1)', 'view-source:http://x'])
      expect(await the.call('navigate', { url })).toMatchObject({
        is_error: true,
        text: expect.stringContaining('only addresses'),
      })
    const refused = await the.call('navigate', { url: 'http://127.0.0.1:1/' })
    expect(refused).toMatchObject({ is_error: true })
    expect(refused.text).toMatch(/ERR_/)
    expect((await the.call('navigate', { url: `${site.url}/none` })).text).toContain('status 404')
    await the.call('navigate', { url: site.url })
    const state = await the.call('get_state')
    expect(await the.call('click', { index: 999 })).toMatchObject({
      is_error: true,
      text: expect.stringContaining('no element [999]'),
    })
    expect((await the.call('type', { index: the.indexOf(state, 'name="size"'), text: 'Huge' })).text).toContain(
      'Options: Small, Large',
    )
    await the.call('navigate', { url: `${site.url}/long` })
    expect(await the.call('click', { index: 0 })).toMatchObject({ is_error: true })
    const first = await the.call('get_content')
    expect(first.text.length).toBeLessThanOrEqual(50_000)
    const [, next] = /start_from_char (\d+)/.exec(first.text)!
    const second = await the.call('get_content', { start_from_char: Number(next) })
    expect(second.text).toContain('word')
    expect(await the.call('get_content', { start_from_char: 999_999 })).toMatchObject({ is_error: true })
  },
  BROWSER_TEST_MS,
)

shows(
  'a screenshot is an image for the model and for clients, and is saved',
  async () => {
    await using site = await pages(SITE)
    const the = await withOneTab(shared)
    await the.call('navigate', { url: site.url })
    const { content, screenshot_data, full_output_save_dir } = await the.call('get_state', { include_screenshot: true })
    expect(Buffer.from(screenshot_data, 'base64').subarray(0, 2)).toEqual(Buffer.from([0xff, 0xd8]))
    expect(content[1]).toMatchObject({ type: 'image', image_urls: [`data:image/jpeg;base64,${screenshot_data}`] })
    expect(await readdir(full_output_save_dir)).toHaveLength(1)
  },
  BROWSER_TEST_MS,
)

shows(
  'values of cookies and storage are withheld from the model, and filled in again',
  async () => {
    const echo = (request: { headers: { cookie?: string } }) =>
      `<title>x</title><p>cookie: ${request.headers.cookie ?? 'none'}</p><p id="l"></p>` +
      `<script>l.textContent = 'stored: ' + localStorage.getItem('token'); if (location.search) localStorage.setItem('token', 'secret-local-value')</script>`
    await using site = await pages({ '/': echo as never })
    const the = await withOneTab(shared)
    await the.call('navigate', { url: `${site.url}/?set` })
    const stored = await the.call('get_storage')
    expect(stored.text).toContain('visit')
    expect(stored.text).not.toMatch(/secret-(cookie|local)-value/)
    const state = JSON.parse(stored.text.slice(stored.text.indexOf('{')))
    expect(await the.call('set_storage', { storage_state: { cookies: [], origins: [] } })).toMatchObject({
      is_error: false,
    })
    await the.call('navigate', { url: site.url })
    expect((await the.call('get_content')).text).toMatch(/cookie: none[^]*stored: null/)
    expect((await the.call('set_storage', { storage_state: state })).text).toContain(
      '1 cookies, local storage of 1 sites',
    )
    await the.call('navigate', { url: site.url })
    expect((await the.call('get_content')).text).toMatch(/visit=secret-cookie-value[^]*stored: secret-local-value/)
    const unknown = { cookies: [{ name: 'nobody', value: '[kept]', domain: 'x.test' }] }
    expect(await the.call('set_storage', { storage_state: unknown })).toMatchObject({
      is_error: true,
      text: expect.stringContaining('nobody'),
    })
    expect(await the.call('set_storage', { storage_state: { cookies: 'all' } })).toMatchObject({ is_error: true })
    expect((await readFile(join(the.dataDir, 'browser', 'storage.json'))).length).toBeGreaterThan(0)
  },
  BROWSER_TEST_MS,
)

shows(
  'a recording saves its images in the workspace',
  async () => {
    await using site = await pages(SITE)
    const the = await withOneTab(shared)
    await the.call('navigate', { url: site.url })
    expect(await the.call('stop_recording')).toMatchObject({ is_error: true })
    expect(await the.call('start_recording')).toMatchObject({ is_error: false })
    expect(await the.call('start_recording')).toMatchObject({ is_error: true })
    await the.call('navigate', { url: `${site.url}/other` })
    const { text } = await the.call('stop_recording')
    const [, count, folder] = /: (\d+) pictures in (\S+)\.$/.exec(text)!
    expect(await readdir(folder!)).toHaveLength(Number(count))
  },
  BROWSER_TEST_MS,
)

shows(
  'dialogs are dismissed and reported, and events that no action caused are not lost',
  async () => {
    await using site = await pages({ '/': `<button onclick="alert('stop'); document.title = 'after'">Go</button>` })
    const the = await withOneTab(shared)
    await the.call('navigate', { url: site.url })
    const state = await the.call('get_state')
    const { text } = await the.call('click', { index: the.indexOf(state, 'Go') })
    expect(text).toMatch(/\(after\)[^]*alert saying "stop"; it was dismissed/)
  },
  BROWSER_TEST_MS,
)

shows(
  'a browser that dies is restarted, and a closed one leaves no process',
  async () => {
    await using site = await pages(SITE)
    await using workspaces = await openTestWorkspaces()
    await using the = await browserIn(workspaces)
    await the.call('navigate', { url: site.url })
    expect(workspaces.processes().length).toBeGreaterThan(0)
    for (const pid of workspaces.processes()) process.kill(pid, 'SIGKILL')
    // The crash is noticed a moment later, by the running action or before the next one.
    await expect
      .poll(async () => (await the.call('list_tabs')).text, { timeout: 30_000 })
      .toMatch(/new browser without the tabs/)
    await Promise.all([the.holder.close(), the.holder.close()])
    await expect.poll(() => workspaces.processes(), { timeout: 20_000 }).toEqual([])
    expect(await the.call('list_tabs')).toMatchObject({ is_error: true })
  },
  BROWSER_TEST_MS,
)

shows(
  'an action on a page that does not respond times out, and the third timeout restarts the browser',
  async () => {
    let limitMs = 60_000
    class Changing extends ActionTimeLimit {
      override get limitMs() {
        return limitMs
      }
    }
    await using site = await pages({ ...SITE, '/stuck': '<button onclick="for(;;);">Freeze</button>' })
    await using the = await browserIn(here, new SharedBrowser(new Changing()))
    await the.call('navigate', { url: `${site.url}/stuck` })
    await the.call('get_state')
    limitMs = 800
    await the.call('click', { index: 0 })
    let text = ''
    for (let tries = 0; tries < 6 && !text.includes('third time'); tries++) text = (await the.call('get_content')).text
    expect(text).toContain('did not answer within 0.8 seconds')
    expect(text).toContain('third time in a row')
    limitMs = 60_000
    expect((await the.call('list_tabs')).text).toContain('did not answer three times in a row')
  },
  BROWSER_TEST_MS,
)

shows(
  'an interrupt does not wait for the browser',
  async () => {
    await using the = await browserIn(here)
    await the.call('list_tabs')
    await using hanging = await pages({
      '/': () => '<script>const end = Date.now() + 5000; while (Date.now() < end);</script>',
    })
    const stop = new AbortController()
    const going = the.call('navigate', { url: hanging.url }, { signal: stop.signal })
    stop.abort(new Error('interrupted'))
    await expect(going).rejects.toThrow('interrupted')
  },
  BROWSER_TEST_MS,
)

const bubblewrap = await findBubblewrap()
const sandboxedTest = HAS_CHROMIUM && 'path' in bubblewrap ? test : test.skip

sandboxedTest(
  'inside a sandbox without network the browser runs, and reaches no host',
  async () => {
    await using site = await pages(SITE)
    await using workspaces = await openTestWorkspaces({ sandbox: { mode: 'required', network: false } })
    await using the = await browserIn(workspaces)
    expect(await the.call('navigate', { url: 'about:blank' })).toMatchObject({ is_error: false })
    const refused = await the.call('navigate', { url: site.url })
    expect(refused).toMatchObject({ is_error: true })
    expect(refused.text).toMatch(/ERR_/)
    const { screenshot_data } = await the.call('get_state', { include_screenshot: true })
    expect(screenshot_data.length).toBeGreaterThan(100)
  },
  BROWSER_TEST_MS,
)

sandboxedTest(
  'inside a sandbox with a list of hosts the browser reaches only those',
  async () => {
    await using site = await pages(SITE)
    await using other = await pages(SITE)
    const network = [site.url.replace('http://', '')]
    await using workspaces = await openTestWorkspaces({ sandbox: { mode: 'required', network } })
    await using the = await browserIn(workspaces)
    expect((await the.call('navigate', { url: site.url })).text).toBe(`Opened ${site.url}/ (Form) in tab 1.`)
    const refused = await the.call('navigate', { url: other.url })
    expect(refused.text).toMatch(/ERR_|status 403/)
    expect((await the.call('get_content')).text).not.toContain('Order')
  },
  BROWSER_TEST_MS,
)

test('without a browser, the observation names the cause and the fix', async () => {
  await using the = await browserIn(here)
  const services = { browser: { executable: '/no/such/chromium' } }
  const { is_error, text } = await the.call('navigate', { url: 'http://x.test' }, { services })
  expect(is_error).toBe(true)
  expect(text).toMatch(/no Chromium is installed.*PARLEY_CHROMIUM/)
})

test('the output of a program that is no browser is reported', async () => {
  await using the = await browserIn(here)
  const services = { browser: { executable: '/bin/false' } }
  expect(await the.call('list_tabs', {}, { services })).toMatchObject({
    is_error: true,
    text: expect.stringContaining('exit code 1'),
  })
})

test('two timeouts shorten the time limit, the third restarts the browser, and any other outcome resets the count', () => {
  const timeLimit = new ActionTimeLimit()
  expect(timeLimit.limitMs).toBe(300_000)
  expect([timeLimit.timedOut(), timeLimit.limitMs]).toEqual([false, 300_000])
  expect([timeLimit.timedOut(), timeLimit.limitMs]).toEqual([false, 30_000])
  expect([timeLimit.timedOut(), timeLimit.limitMs]).toEqual([true, 300_000])
  timeLimit.timedOut()
  timeLimit.timedOut()
  timeLimit.ended()
  expect(timeLimit.limitMs).toBe(300_000)
})
