/** Each tool once in a whole conversation: called by a model, executed in a workspace, with its result in the log. */
import { existsSync } from 'node:fs'
import { chmod, mkdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startScriptedModel, type ScriptedAnswer } from '../../packages/server/testing/scripted-model.ts'
import { startServerProcess } from '../../packages/server/testing/server-process.ts'
import { startTestServer } from '../../packages/server/testing/server.ts'
import { tempDir } from '../../packages/server/testing/temp.ts'
import { pages, HAS_CHROMIUM } from '../../packages/server/src/tools/browser/browser.testing.ts'
import { processesOf } from '../../packages/server/testing/processes.ts'
import { until } from '../../packages/server/testing/until.ts'
import { conversation, llmOf, message, start, starting } from '../../packages/server/testing/conversations.ts'

const call = (name: string, args: object): ScriptedAnswer => ({ toolCalls: [{ name, arguments: args as never }] })
const done: ScriptedAnswer = { text: 'Done.' }

/** Runs the calls one after the other; returns the observations, the offered tools and the model requests. */
async function run(
  tools: string[],
  calls: ScriptedAnswer[],
  files: Record<string, string>,
  { model = 'openai/scripted', settings = {} }: { model?: string; settings?: Record<string, string> } = {},
) {
  await using stack = new AsyncDisposableStack()
  const scripted = stack.use(await startScriptedModel({ by: 'turn', answers: [...calls, done] }))
  const server = stack.use(await startTestServer(settings))
  const work = server.dir.file('work')
  await mkdir(work)
  for (const [name, text] of Object.entries(files)) await writeFile(join(work, name), text)
  const agent = {
    llm: llmOf(scripted, { model, ...(/gpt-5/.test(model) ? { api_mode: 'responses' } : {}) }),
    tools: tools.map((name) => ({ name })),
  }
  const of = await start(server, starting(scripted, work, { agent, initial_message: message('go') }))
  await of.is('finished', 'error')
  const open = stack.move()
  const observations = (await of.kinds('ObservationEvent')).map(({ observation }) => observation)
  return { work, of, server, scripted, observations, [Symbol.asyncDispose]: () => open.disposeAsync() }
}

test('grep and glob find files, and need no approval where only risky actions do', async () => {
  await using stack = new AsyncDisposableStack()
  const model = stack.use(
    await startScriptedModel({
      by: 'turn',
      answers: [call('grep', { pattern: 'needle', include: '*.{ts,js}' }), call('glob', { pattern: '**/*.ts' }), done],
    }),
  )
  const server = stack.use(await startTestServer())
  const work = server.dir.file('work')
  await mkdir(join(work, 'src'), { recursive: true })
  await writeFile(join(work, 'src', 'a.ts'), 'the Needle\n')
  await writeFile(join(work, 'b.md'), 'needle\n')
  const of = await start(
    server,
    starting(model, work, {
      agent: { tools: [{ name: 'GrepTool' }, { name: 'glob' }] },
      security_analyzer: { kind: 'LLMSecurityAnalyzer' },
      confirmation_policy: { kind: 'ConfirmRisky' },
      initial_message: message('go'),
    }),
  )
  await of.is('finished')
  const observations = (await of.kinds('ObservationEvent')).map(({ observation }) => observation)
  expect(observations).toMatchObject([
    { kind: 'GrepObservation', matches: [join(work, 'src', 'a.ts')], truncated: false, include_pattern: '*.{ts,js}' },
    { kind: 'GlobObservation', files: [join(work, 'src', 'a.ts')], search_path: work },
  ])
  const [prompt] = await of.kinds('SystemPromptEvent')
  expect(prompt.tools.map(({ kind, title, annotations }: any) => [kind, title, annotations?.readOnlyHint])).toEqual([
    ['GrepTool', 'grep', true],
    ['GlobTool', 'glob', true],
    ['FinishTool', 'finish', true],
    ['ThinkTool', 'think', true],
  ])
})

test('an edit that leaves a syntax error is made, and says so in one line, unless the operator has turned it off', async () => {
  const patch = [
    '*** Begin Patch',
    '*** Update File: a.json',
    '-{}',
    '+{"a": 1,}',
    '*** Add File: app.py',
    '+def f(:',
    '*** End Patch',
  ].join('\n')
  const patched = async (settings: Record<string, string>): Promise<string> => {
    await using it = await run(['apply_patch'], [call('apply_patch', { patch })], { 'a.json': '{}\n' }, { settings })
    expect(await readFile(join(it.work, 'a.json'), 'utf8')).toBe('{"a": 1,}\n')
    return it.observations[0].content[0].text
  }
  expect((await patched({})).split('\n')).toEqual([
    'The patch is applied:',
    'M a.json',
    'A app.py',
    '[Syntax error in a.json, line 1: Expected double-quoted property name. The edit is made; correct it.]',
    expect.stringMatching(/^\[Syntax error in app\.py, line 1: .* \(Python .*correct it\.\]$/),
  ])
  expect(await patched({ PARLEY_CHECK_EDITS: 'false' })).not.toContain('Syntax')
})

test('apply_patch changes files, or returns the reason of a failure; for a model of the Responses API it is one text', async () => {
  const patch = '*** Begin Patch\n*** Update File: a.txt\n-one\n+ONE\n*** Add File: b.txt\n+two\n*** End Patch'
  await using it = await run(
    ['apply_patch'],
    [call('apply_patch', { patch }), call('apply_patch', { patch })],
    { 'a.txt': 'one\n' },
    { model: 'openai/gpt-5.1' },
  )
  expect(it.observations).toMatchObject([
    { kind: 'ApplyPatchObservation', is_error: false, message: 'The patch is applied:\nM a.txt\nA b.txt', fuzz: 0 },
    { kind: 'ApplyPatchObservation', is_error: true },
  ])
  expect(it.observations[1].message).toContain('Context not found in a.txt')
  expect(await readFile(join(it.work, 'a.txt'), 'utf8')).toBe('ONE\n')
  const [request] = it.scripted.requests
  expect(request!.format).toBe('responses')
  const offered = (request!.body as any).tools.find(({ name }: any) => name === 'apply_patch')
  expect(offered).toMatchObject({ type: 'custom', format: { type: 'grammar', syntax: 'lark' } })
})

test('the planning editor writes only the plan', async () => {
  await using it = await run(
    ['planning_file_editor'],
    [
      call('planning_file_editor', { command: 'view', path: 'PLAN' }),
      call('planning_file_editor', { command: 'create', path: '/tmp/never-there.txt', file_text: 'x' }),
    ],
    {},
  )
  expect(it.observations).toMatchObject([
    { kind: 'PlanningFileEditorObservation', is_error: true },
    { kind: 'PlanningFileEditorObservation', is_error: true, command: 'create' },
  ])
  expect(it.observations[1].content[0].text).toContain('Operation not allowed')
  expect((await stat(join(it.work, '.agents_tmp', 'PLAN.md'))).isFile()).toBe(true)
})

const browses = HAS_CHROMIUM ? test : test.skip

browses(
  'the browser opens pages, and ends with its conversation',
  async () => {
    await using site = await pages({ '/': '<title>Home</title><button>Press me</button>' })
    await using it = await run(
      ['BrowserToolSet'],
      [call('browser_navigate', { url: site.url }), call('browser_get_state', { include_screenshot: true })],
      {},
    )
    expect(it.observations).toMatchObject([
      { kind: 'BrowserObservation', is_error: false, content: [{ text: `Opened ${site.url}/ (Home) in tab 1.` }] },
      { kind: 'BrowserObservation', is_error: false, screenshot_data: expect.any(String) },
    ])
    expect(it.observations[1].content[0].text).toContain('[0]<button> Press me')
    const [prompt] = await it.of.kinds('SystemPromptEvent')
    expect(prompt.tools.filter(({ kind }: any) => /^Browser\w+Tool$/.test(kind))).toHaveLength(14)
    const mine = () => processesOf(it.server.dir.file('data'), `conversations/${it.of.id}/browser`)
    expect((await mine()).length).toBeGreaterThan(0)
    await it.server.call('DELETE', `/api/conversations/${it.of.id}`)
    await until(async () => (await mine()).length === 0)
  },
  120_000,
)

browses(
  'a browser ends with a killed server, and the conversation continues with a new one',
  async () => {
    await using dir = await tempDir()
    await using site = await pages({ '/': '<title>Home</title><p>Hello</p>' })
    await using model = await startScriptedModel({
      by: 'turn',
      answers: [call('browser_navigate', { url: site.url }), done, call('browser_list_tabs', {}), done],
    })
    const dataDir = dir.file('data')
    const first = await startServerProcess({ dataDir })
    const agent = { tools: [{ name: 'browser_tool_set' }] }
    const { id } = await start(first, starting(model, dir.file('work'), { agent, initial_message: message('go') }))
    await conversation(first, id).is('finished')
    await first.kill()
    await until(async () => (await processesOf(dataDir, `conversations/${id}/browser`)).length === 0, 30_000)
    await using second = await startServerProcess({ dataDir })
    const of = conversation(second, id)
    await of.say('which tabs are there?')
    await until(async () => (await of.kinds('ObservationEvent')).length === 2, 60_000)
    const [, tabs] = await of.kinds('ObservationEvent')
    expect(tabs.observation).toMatchObject({ is_error: false, content: [{ text: '* 1: about:blank' }] })
  },
  120_000,
)

test('without a browser, the model gets the reason and the conversation continues', async () => {
  await using stack = new AsyncDisposableStack()
  const dir = stack.use(await tempDir())
  const broken = dir.file('broken')
  await writeFile(broken, '#!/bin/sh\necho no display >&2\nexit 5\n')
  await chmod(broken, 0o755)
  const model = stack.use(
    await startScriptedModel({ by: 'turn', answers: [call('browser_navigate', { url: 'http://x.test' }), done] }),
  )
  const server = stack.use(await startTestServer({ PARLEY_CHROMIUM: broken }))
  expect(existsSync(broken)).toBe(true)
  const agent = { tools: [{ name: 'browser_tool_set' }] }
  const of = await start(server, starting(model, server.dir.file('work'), { agent, initial_message: message('go') }))
  await of.is('finished')
  const [{ observation }] = await of.kinds('ObservationEvent')
  expect(observation).toMatchObject({ is_error: true })
  expect(observation.content[0].text).toBe('The browser ended with exit code 5: no display')
})
