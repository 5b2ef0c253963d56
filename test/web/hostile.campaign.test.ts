/** Hostile content of a log in a real browser: nothing of it runs, loads, or becomes an element that a text may not have. */
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import type { Event } from '@parley/protocol'
import { byForm } from '../../packages/server/testing/campaign.ts'
import { until } from '../../packages/server/testing/until.ts'
import { CHROMIUM, openSite, SCENARIO_MS } from './harness.ts'
import { hostileTexts, LOADED, RAN } from './hostile-texts.ts'
import { eventChain, openLongLog } from './long-log.ts'
import { startTalk } from './talk.ts'

const TEXTS = byForm({ test: 200, campaign: 2_000 })
const ELEMENTS =
  'a article blockquote br button code col colgroup dd del details div dl dt em figcaption figure h2 h3 h4 h5 hr img input kbd li mark ol p pre section small span strong summary table tbody td th thead time tr ul'
const DRAWING = 'svg path circle line rect polyline polygon ellipse g'

/** Opens the rows that are on the screen; resolves to the seqs of those whose text is shown. */
const OPEN_ROWS = `(() => {
  for (const one of document.querySelectorAll('.timeline-scroll .tool-line[aria-expanded=false]')) one.click()
  return [...document.querySelectorAll('.timeline-scroll .row[data-seq]')]
    .filter((row) => row.querySelector('.unloaded, .row-unloaded') === null && row.textContent.length > 0)
    .map((row) => Number(row.dataset.seq))
})()`

/** What is in the page that may not be there. */
const FAULTS = `(() => {
  const elements = new Set(${JSON.stringify(ELEMENTS.split(' '))})
  const drawing = new Set(${JSON.stringify(DRAWING.split(' '))})
  const faults = window.${RAN} === undefined ? [] : ['a script ran']
  for (const one of document.querySelectorAll('.timeline-scroll *, .conversation-title *')) {
    const name = one.localName
    if (!(one instanceof SVGElement ? drawing : elements).has(name)) faults.push(name)
    for (const { name: key, value } of one.attributes) {
      if (key.startsWith('on') || key === 'srcdoc' || key === 'action' || key === 'formaction') faults.push(name + ' ' + key)
      if (key === 'style' && /url|expression|@import/i.test(value)) faults.push(name + ' style ' + value)
      if (key === 'src' && !/^data:image\\/(png|jpeg|gif|webp);base64,|^blob:/.test(value)) faults.push(name + ' src ' + value)
      if (key === 'href' && name !== 'use' && !/^(https?:|mailto:)|^\\/(c|new|settings|approvals)\\b|^#|^\\?/.test(value))
        faults.push(name + ' href ' + value)
    }
    if (name === 'a' && one.target === '_blank' && !/noopener/.test(one.rel)) faults.push('a without noopener')
    if (name === 'input' && !(one.type === 'checkbox' && one.disabled)) faults.push('input')
  }
  return faults
})()`

test.skipIf(CHROMIUM === undefined)(
  `${TEXTS} hostile texts of a log run no script, request nothing, and add no element or attribute that a text may not have`,
  async () => {
    await using talk = await startTalk()
    await using site = await openSite()
    const log = logOf(TEXTS)
    await using long = await openLongLog(site, talk, log.events)
    const page = await long.open(`/c/${long.id}`)
    const requested: string[] = []
    page.on('request', (request) => requested.push(request.url()))
    page.on('dialog', (dialog) => void dialog.dismiss().then(() => requested.push('a dialog')))
    page.on('framenavigated', (frame) => {
      if (!frame.url().startsWith(`${long.server.url}/c/${long.id}`)) requested.push(`went to ${frame.url()}`)
    })
    await page.locator('.row[data-seq]').last().waitFor()
    const seen = await readUpwards(page)
    const isOwn = (url: string) => url.startsWith(long.server.url) || /^(?:data|blob):/.test(url)
    expect(requested.filter((url) => !isOwn(url) || url.includes(LOADED))).toEqual([])
    // Every text was on the screen, with the call that it belongs to.
    expect(seen.size).toBeGreaterThanOrEqual(log.rows)
    expect(await page.evaluate<unknown>(`window.${RAN}`)).toBeUndefined()
  },
  6 * SCENARIO_MS,
)

/** Goes from the end of the log to its beginning, a screen at a time, and opens every row. Returns the seqs of the rows that were seen. */
async function readUpwards(page: Page): Promise<ReadonlySet<number>> {
  const seen = new Set<number>()
  for (;;) {
    // The rows of this screen are loaded, open, and stay where they are.
    let before = ''
    await until(async () => {
      const shown = JSON.stringify(await page.evaluate<number[]>(OPEN_ROWS))
      const isLoaded = await page.evaluate<boolean>(
        `document.querySelector('.timeline-scroll .unloaded, .row-unloaded') === null`,
      )
      const isSame = shown === before
      before = shown
      return isSame && isLoaded
    }, SCENARIO_MS)
    for (const seq of JSON.parse(before) as number[]) seen.add(seq)
    expect(await page.evaluate<string[]>(FAULTS)).toEqual([])
    const isAtTop = await page.evaluate<boolean>(
      `(() => { const l = document.querySelector('.timeline-scroll'); const at = l.scrollTop; l.scrollTop -= 700; return at === 0 })()`,
    )
    if (isAtTop) return seen
    await page.evaluate(`new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))`)
  }
}

/** A log with a row for each text. */
function logOf(count: number): { events: Event[]; rows: number } {
  const { markdown, outputs, edits } = hostileTexts(count)
  const { events, add } = eventChain()
  const content = (value: string) => [{ type: 'text', text: value }]
  const call = (name: string, action: Record<string, unknown>, observation: Record<string, unknown>) => {
    const tool_call_id = `call_${events.length}`
    const { kind: _kind, ...args } = action
    const action_id = add({
      kind: 'ActionEvent',
      source: 'agent',
      thought: [],
      action,
      tool_name: name,
      tool_call_id,
      tool_call: { id: tool_call_id, name, arguments: JSON.stringify(args), origin: 'completion' },
      llm_response_id: `r_${events.length}`,
    })
    add({ kind: 'ObservationEvent', source: 'environment', tool_name: name, tool_call_id, action_id, observation })
  }
  for (const [at, text] of markdown.entries()) {
    const isPerson = at % 10 === 0
    const [source, role] = isPerson ? ['user', 'user'] : ['agent', 'assistant']
    add({ kind: 'MessageEvent', source, llm_message: { role, content: content(text) } })
  }
  for (const { command, output } of outputs)
    call(
      'terminal',
      { kind: 'TerminalAction', command },
      { kind: 'TerminalObservation', command, content: content(output), exit_code: 0 },
    )
  for (const { path, before, after } of edits)
    call(
      'file_editor',
      { kind: 'FileEditorAction', command: 'str_replace', path, old_str: before, new_str: after },
      {
        kind: 'FileEditorObservation',
        command: 'str_replace',
        path,
        prev_exist: true,
        old_content: before,
        new_content: after,
        content: content(''),
      },
    )
  return { events, rows: count }
}
