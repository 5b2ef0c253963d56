import {
  ApplyPatchObservation,
  FileEditorObservation,
  TaskTrackerObservation,
  textContent,
  type ObservationEvent,
  type TaskItem,
  type TreeEvent,
} from '@parley/protocol'
import { expect, test } from 'vitest'
import { callEvent, condensationEvent, messageEvent, prompt, resultEvent } from '../view/events.testing.ts'
import { messageOf } from '../view/messages.ts'
import { withoutContent } from '../view/pruning.ts'
import { View } from '../view/view.ts'
import { givenBack } from './given-back.ts'

let count = 0
/** A call and its result. */
function pair(observation: ObservationEvent['observation']): TreeEvent[] {
  const call = callEvent(`a${++count}`, `r${count}`)
  return [call, { ...resultEvent(`o${count}`, call), observation }]
}
const editor = (members: object) => pair(FileEditorObservation.parse({ kind: 'FileEditorObservation', ...members }))
const viewed = (path: string, text: string) =>
  editor({ command: 'view', path, content: [textContent(`${path}, as \`cat -n\` shows it:\n     1\t${text}`)] })
const edited = (path: string, new_content: string | null) =>
  editor({ command: 'str_replace', path, old_content: 'before', new_content, content: [textContent('edited')] })
const planned = (...tasks: Partial<TaskItem>[]) =>
  pair(TaskTrackerObservation.parse({ kind: 'TaskTrackerObservation', command: 'plan', task_list: tasks }))
const patched = (changes: object) =>
  pair(ApplyPatchObservation.parse({ kind: 'ApplyPatchObservation', commit: { changes } }))

/** What is given back when everything but `kept` is forgotten. */
function given(forgotten: readonly TreeEvent[], kept: readonly TreeEvent[] = [], maxChars = 24_000) {
  const first = [prompt(), messageEvent('task', 'build it')]
  return givenBack([...first, ...forgotten, ...kept], { start: 2, end: 2 + forgotten.length }, maxChars)
}
const paths = (files: readonly { path: string }[] = []) => files.map(({ path }) => path)

test('without a task list and files nothing is given back', () => {
  expect(given([...pair({ kind: 'ThinkObservation', content: [], is_error: false })])).toBeUndefined()
})

test('the newest task list is given back, unless the events that stay show a newer one', () => {
  const old = planned({ title: 'read', status: 'todo' })
  const now = planned(
    { title: 'read', status: 'done' },
    { title: 'write', notes: 'on port 8431', status: 'in_progress' },
  )
  const { tasks } = given([...old, ...now])!
  expect(tasks).toBe('The task list:\n1. [x] read\n2. [~] write\n   on port 8431')
  expect(given(old, now)).toBeUndefined()
  expect(given([...now, ...planned()])).toBeUndefined()
  const failed = { kind: 'TaskTrackerObservation' as const, command: 'view' as const, task_list: [] }
  expect(given([...now, ...pair({ ...failed, is_error: true, content: [] })])).toMatchObject({ tasks })
})

test('the newest state of each file is given back, the most recently used file first', () => {
  const events = [...viewed('/w/a', 'one'), ...viewed('/w/b', 'two'), ...edited('/w/a', 'three\n')]
  expect(given(events)!.files).toEqual([
    { path: '/w/a', text: 'three\n' },
    { path: '/w/b', text: expect.stringContaining('\ttwo') },
  ])
})

test('a view among the events that stay replaces what would be given back, and an edit among them leaves the state before it', () => {
  const before = [...viewed('/w/a', 'one'), ...viewed('/w/b', 'two'), ...viewed('/w/c', 'three')]
  const after = [...viewed('/w/b', 'newer'), ...edited('/w/a', 'later'), ...edited('/w/b', 'last')]
  const { files } = given(before, after)!
  expect(paths(files)).toEqual(['/w/a', '/w/c'])
  expect(files[0]!.text).toContain('one')
})

test('a removed file, a directory and a failed call are not given back', () => {
  const events = [
    ...edited('/w/gone', 'x'),
    ...editor({ command: 'undo_edit', path: '/w/gone', prev_exist: false, old_content: 'x', new_content: null }),
    ...editor({ command: 'view', path: '/w', content: [textContent('The directory /w:\n/w/a')] }),
    ...editor({ command: 'insert', path: '/w/none', is_error: true, content: [textContent('/w/none does not exist')] }),
  ]
  expect(given(events)).toBeUndefined()
})

test('a file whose view has lost its content, or whose content is too large to be stored, is given back by its path', () => {
  const [call, result] = viewed('/w/old', 'one') as [TreeEvent, ObservationEvent]
  const events = [call, withoutContent(result), ...edited('/w/large', 'x'), ...edited('/w/large', null)]
  expect(given(events)!.files).toEqual([
    { path: '/w/large', text: null },
    { path: '/w/old', text: null },
  ])
})

test('the files of a patch are given back: added, changed, moved, and without the deleted ones', () => {
  const none = { old_content: null, move_path: null }
  const events = [
    ...edited('/w/c', 'x'),
    ...patched({
      '/w/a': { ...none, type: 'add', new_content: 'A' },
      '/w/b': { ...none, type: 'update', new_content: 'B', move_path: '/w/b2' },
      '/w/c': { ...none, type: 'delete', new_content: null },
    }),
  ]
  expect(given(events)!.files).toEqual([
    { path: '/w/b2', text: 'B' },
    { path: '/w/a', text: 'A' },
  ])
})

test('what is given back has a limited length: the most recently used files have content, the others paths', () => {
  const events = Array.from({ length: 30 }, (_, n) => edited(`/w/${n}`, `${n}: ${'x'.repeat(10_000)}`)).flat()
  const tasks = planned(...Array.from({ length: 400 }, (_, n) => ({ title: `task ${n}`, notes: 'y'.repeat(50) })))
  const all = given([...tasks, ...events])!
  const lengths = all.files.map(({ path, text }) => path.length + (text?.length ?? 0))
  expect(lengths.reduce((sum, length) => sum + length, all.tasks!.length)).toBeLessThanOrEqual(24_000)
  expect(all.tasks!.length).toBeLessThanOrEqual(8_000)
  expect(paths(all.files)).toEqual(Array.from({ length: 20 }, (_, n) => `/w/${29 - n}`))
  expect(all.files.map(({ text }) => text !== null)).toEqual([true, true, ...Array.from({ length: 18 }, () => false)])
  const short = Array.from({ length: 10 }, (_, n) => edited(`/w/${n}`, 'x')).flat()
  expect(given(short)!.files.filter(({ text }) => text !== null)).toHaveLength(6)
  const named = Array.from({ length: 4 }, (_, n) => edited(`/w/${n}${'y'.repeat(96)}`, 'x'.repeat(1000))).flat()
  expect(given(named, [], 500)!.files).toHaveLength(2)
  const few = given(edited('/w/a', 'x'.repeat(1000)), [], 300)!
  expect(few.files).toEqual([{ path: '/w/a', text: null }])
})

test('the next condensation carries over what no event has changed since', () => {
  const first = [prompt(), messageEvent('task', 'build it')]
  const older = [
    ...planned({ title: 'read' }),
    ...edited('/w/a', 'one'),
    ...edited('/w/b', 'two'),
    ...edited('/w/c', 'four'),
  ]
  const view = new View()
  for (const event of [...first, ...older]) view.append(event)
  const given_back = givenBack(view.events(), { start: 2, end: 10 }, 24_000)!
  view.append({ ...condensationEvent('c', older, 'so far', 2), given_back })
  for (const event of edited('/w/b', 'three')) view.append(event)
  const next = givenBack(view.events(), { start: 2, end: 5 }, 24_000)!
  expect(next.tasks).toContain('1. [ ] read')
  expect(next.files).toEqual([
    { path: '/w/b', text: 'three' },
    { path: '/w/c', text: 'four' },
    { path: '/w/a', text: 'one' },
  ])
  // A summary that stays has its own.
  expect(givenBack(view.events(), { start: 3, end: 5 }, 24_000)).toEqual({
    tasks: null,
    files: [{ path: '/w/b', text: 'three' }],
  })
})

test('the model sees what is given back behind the summary, as data that cannot close its element', () => {
  const given_back = {
    tasks: 'The task list:\n1. [ ] read',
    files: [
      { path: '/w/a', text: 'x</file_in_work>y' },
      { path: '/w/b', text: null },
    ],
  }
  const view = new View()
  for (const event of [prompt(), { ...condensationEvent('c', [], 'so far', 1), given_back }]) view.append(event)
  for (const each of [view, View.restore(view.sources(), view)]) {
    const message = messageOf(each.events()[1]!)
    expect(message).toMatchObject({ role: 'user', content: [{ type: 'text' }] })
    const { text } = message!.content[0] as { text: string }
    expect(text).toMatch(/so far\n\n\[The state at the end of that part[^\]]*\]\n\nThe task list:\n1\. \[ \] read\n\n/)
    expect(text).toContain('<file_in_work path="/w/a">\nxy\n</file_in_work>')
    expect(text).toContain('without their content:\n/w/b')
  }
})
