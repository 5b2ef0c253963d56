import type { Event } from '@parley/protocol'
import { expect, test } from 'vitest'
import { mayHaveWritten } from './may-write.ts'

const observed = (kind: string, more: object = {}) => ({ kind: 'ObservationEvent', observation: { kind, ...more } })

test.each<[string, object, boolean]>([
  ['a command', observed('TerminalObservation'), true],
  ['an edit', observed('FileEditorObservation', { command: 'create' }), true],
  ['an undone edit', observed('FileEditorObservation', { command: 'undo_edit' }), true],
  ['an edit of a plan', observed('PlanningFileEditorObservation', { command: 'insert' }), true],
  ['a call to an MCP server', observed('MCPToolObservation'), true],
  ['the work of a sub-agent', observed('TaskObservation'), true],
  ['a tool that a later version adds', observed('LaterObservation'), true],
  ['a failed call', { kind: 'AgentErrorEvent' }, true],
  ['a hook', { kind: 'HookExecutionEvent' }, true],
  ['a call of an external agent', { kind: 'ACPToolCallEvent' }, true],
  ['a view of a file', observed('FileEditorObservation', { command: 'view' }), false],
  ['a view of a plan', observed('PlanningFileEditorObservation', { command: 'view' }), false],
  ['a list of tasks', observed('TaskTrackerObservation', { command: 'plan' }), false],
  ['a search', observed('GrepObservation'), false],
  ['a refused call', { kind: 'UserRejectObservation' }, false],
  ['a message', { kind: 'MessageEvent' }, false],
])('%s may have written: %o gives %s', (_, event, expected) => {
  expect(mayHaveWritten(event as Event)).toBe(expected)
})
