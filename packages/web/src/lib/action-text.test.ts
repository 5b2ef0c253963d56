import { expect, test } from 'vitest'
import { commandOf, textOfAction } from './action-text.ts'

test('a command is shown as it is, an edit by its members, and an unreadable action by its arguments', () => {
  const command = { action: { kind: 'TerminalAction', command: 'ls\nrm -r x', timeout: null }, arguments: '{}' }
  expect([commandOf(command), textOfAction(command)]).toEqual(['ls\nrm -r x', 'ls\nrm -r x'])
  const edit = {
    action: { kind: 'FileEditorAction', command: 'create', path: '/a', view_range: [1, 2], old_str: null },
    arguments: '{}',
  }
  expect([commandOf(edit), textOfAction(edit)]).toEqual([null, 'command: create\npath: /a\nview_range: [1,2]'])
  expect(textOfAction({ action: null, arguments: '{"a":1}' })).toBe('{"a":1}')
})
