import { Event, type EventId } from '@parley/protocol'
import { expect, test } from 'vitest'
import { clip, painter, plain } from './paint.ts'
import { render, type ShownEvent, type View } from './render.ts'

const VIEW: View = { paint: painter(false), width: 60, maxLines: 6, workingDir: '/srv/project' }
const at = { id: '1' as EventId, timestamp: '2026-11-21T10:00:00.000000' }
const text = (value: string) => [{ type: 'text', text: value }]
const shown = (event: Record<string, unknown>, view = VIEW) => render(Event.parse({ ...at, ...event }), view)

function action(tool_name: string, value: Record<string, unknown> | null, more: Record<string, unknown> = {}) {
  const tool_call = { id: 'c', name: tool_name, arguments: '{"x":1}', origin: 'completion' }
  return {
    kind: 'ActionEvent',
    thought: [],
    action: value,
    tool_name,
    tool_call_id: 'c',
    tool_call,
    llm_response_id: 'r',
    ...more,
  }
}

function answer(observation: Record<string, unknown>) {
  return { kind: 'ObservationEvent', tool_name: 't', tool_call_id: 'c', action_id: 'a', observation }
}

test('a rendered message follows the name of its author and wraps at word ends', () => {
  const message = (source: string, role: string, content: string) =>
    shown({ kind: 'MessageEvent', source, llm_message: { role, content: text(content) } }, { ...VIEW, width: 27 })
  expect(message('user', 'user', 'Mend the test that fails, please.')).toEqual([
    'you    Mend the test that',
    '       fails, please.',
  ])
  expect(message('agent', 'assistant', 'one\ntwo')).toEqual(['agent  one', '       two'])
})

test('a rendered command follows the thought before it', () => {
  const event = action('terminal', { kind: 'TerminalAction', command: 'ls -a' }, { thought: text('Looking.') })
  expect(shown(event)).toEqual(['agent  Looking.', '▸ terminal  $ ls -a'])
})

test('a rendered edit shows removed and added lines with one line of context and a path below the working directory', () => {
  const event = action('file_editor', {
    kind: 'FileEditorAction',
    command: 'str_replace',
    path: '/srv/project/src/a.js',
    old_str: 'first\nsecond\n  return a - 1\n}\nlast',
    new_str: 'first\nsecond\n  return a\n}\nlast',
  })
  expect(shown(event)).toEqual([
    '▸ file_editor  str_replace src/a.js',
    '    second',
    '  -   return a - 1',
    '  +   return a',
    '    }',
  ])
})

test('an unreadable call is rendered as the model wrote it', () => {
  expect(shown(action('nonsense', null))).toEqual(['▸ nonsense {"x":1}'])
})

test('a rendered patch names the files that it changes', () => {
  const patch = '*** Begin Patch\n*** Delete File: a.txt\n*** Update File: b.txt\n-x\n+y\n*** End Patch'
  const [title, ...body] = shown(action('apply_patch', { kind: 'ApplyPatchAction', patch }))
  expect(title).toBe('▸ apply_patch  a.txt, b.txt')
  expect(body.map((line) => line.trim())).toEqual(patch.split('\n'))
})

test('the risk of an action is rendered from medium upwards', () => {
  const risky = (security_risk: string) =>
    shown(action('terminal', { kind: 'TerminalAction', command: 'rm x' }, { security_risk }))
  expect(risky('LOW')).toEqual(['▸ terminal  $ rm x'])
  expect(risky('HIGH')).toEqual(['▸ terminal  $ rm x  risk HIGH'])
})

test('the finish of a run is rendered once, by its action', () => {
  expect(shown(action('finish', { kind: 'FinishAction', message: 'All green.' }))).toEqual(['done   All green.'])
  expect(shown(answer({ kind: 'FinishObservation', content: text('All green.') }))).toEqual([])
})

test('a long result keeps its beginning and a longer part of its end', () => {
  const content = text(Array.from({ length: 20 }, (_, n) => `line ${n + 1}`).join('\n'))
  const lines = shown(answer({ kind: 'TerminalObservation', content, command: 'x', exit_code: 1 }))
  expect(lines).toEqual([
    '  line 1',
    '  line 2',
    '  … 15 lines left out',
    '  line 18',
    '  line 19',
    '  line 20',
    '  exit 1',
  ])
})

test.each<[string, Record<string, unknown>, string[]]>([
  ['an exit code of 0', answer({ kind: 'TerminalObservation', command: 'x', exit_code: 0 }), []],
  [
    'a command that is still running',
    answer({ kind: 'TerminalObservation', command: 'x', exit_code: -1 }),
    ['  still running'],
  ],
  [
    'a failed edit',
    answer({ kind: 'FileEditorObservation', command: 'create', content: text('no'), is_error: true }),
    ['  no'],
  ],
  ['an edit that worked', answer({ kind: 'FileEditorObservation', command: 'create', content: text('ok') }), []],
  [
    'a refusal',
    { kind: 'UserRejectObservation', tool_name: 'terminal', tool_call_id: 'c', action_id: 'a', rejection_reason: 'no' },
    ['✗ terminal refused: no'],
  ],
  [
    'a failed run',
    { kind: 'ConversationErrorEvent', source: 'environment', code: 'LLMTimeoutError', detail: 'gone' },
    ['✗ LLMTimeoutError: gone'],
  ],
  [
    'a hook that went well',
    { kind: 'HookExecutionEvent', hook_event_type: 'Stop', hook_command: 'x', success: true, exit_code: 0 },
    [],
  ],
  [
    'waiting',
    { kind: 'StatusChangedEvent', status: 'waiting_for_confirmation', reason: null },
    ['? waiting for your decision'],
  ],
  ['an ordinary status', { kind: 'StatusChangedEvent', status: 'running', reason: null }, []],
])('%s', (_name, event, lines) => {
  expect(shown(event)).toEqual(lines)
})

test('an event without the members that the wire omits when null is rendered', () => {
  const bare = {
    ...at,
    kind: 'ObservationEvent',
    observation: { kind: 'TerminalObservation' },
  } as unknown as ShownEvent
  expect(render(bare, VIEW)).toEqual([])
  const call = { ...at, ...action('terminal', null) } as Record<string, unknown>
  delete call['action']
  expect(render(call as ShownEvent, VIEW)).toEqual(['▸ terminal {"x":1}'])
})

test('an event of an unknown kind renders no line', () => {
  expect(render({ ...at, kind: 'TomorrowEvent' } as unknown as ShownEvent, VIEW)).toEqual([])
})

test('no rendered text contains control characters', () => {
  const evil = 'a\u001b[2Jb\u001b]0;title\u0007c\u009b31md\u202ee\rf'
  const lines = [
    ...shown({ kind: 'MessageEvent', source: 'agent', llm_message: { role: 'assistant', content: text(evil) } }),
    ...shown(action('terminal', { kind: 'TerminalAction', command: evil })),
    ...shown(answer({ kind: 'TerminalObservation', content: text(evil), command: evil, exit_code: 0 })),
    ...shown({ kind: 'ConversationErrorEvent', source: 'environment', code: 'x', detail: evil }),
  ]
  expect(lines.length).toBe(4)
  // oxlint-disable-next-line no-control-regex -- the characters that must be removed
  expect(lines.join('\n')).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e]/)
})

test('rendered text is coloured only when colours are on', () => {
  const coloured = shown(action('terminal', { kind: 'TerminalAction', command: 'ls' }), {
    ...VIEW,
    paint: painter(true),
  })
  expect(coloured).toEqual(['\u001b[36m▸\u001b[39m \u001b[1mterminal\u001b[22m  $ ls'])
  expect(plain(coloured[0]!)).toBe('▸ terminal  $ ls')
})

test('a shortened line ends with an ellipsis and has the allowed width', () => {
  expect(clip('abcdef', 4)).toBe('abc…')
  expect(clip('abcd', 4)).toBe('abcd')
})

test('a rendered retry says when the model is asked again, and why', () => {
  const value = { attempt: 2, wait_seconds: 3.2, detail: 'overloaded' }
  const lines = ['↻ the model is asked again in 4 s (attempt 3): overloaded']
  expect(shown({ kind: 'ModelRetryEvent', usage_id: 'agent', model: 'm', code: 'c', ...value })).toEqual(lines)
  const frame = { ...at, kind: 'ConversationStateUpdateEvent', key: 'model_retry', value } as ShownEvent
  expect(render(frame, VIEW)).toEqual(lines)
})

test('a failure is rendered in full, on as many lines as it needs', () => {
  const detail = 'no model is configured; set LLM_MODEL for the server, or name one with --model and LLM_API_KEY'
  const lines = shown({ kind: 'ConversationErrorEvent', source: 'environment', code: 'LLMNotConfigured', detail })
  expect(lines.length).toBe(2)
  expect(lines.map((line) => line.slice(2)).join(' ')).toBe(`LLMNotConfigured: ${detail}`)
})
