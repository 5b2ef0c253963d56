import { chmod, mkdir, readFile, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { asConversationId, asEventId, type ActionEvent, type Observation } from '@parley/protocol'
import { expect, test } from 'vitest'
import { openTestNotes } from '../../../testing/call-notes.ts'
import { openTestWorkspaces, never } from '../../workspace/workspace.testing.ts'
import { fileEditorTool } from '../file-editor/file-editor-tool.ts'
import type { ToolContext } from '../tool.ts'
import { applyPatchTool } from './apply-patch-tool.ts'
import { forgetPlan, readPlan, writePlan } from './notes.ts'
import { parsePatch } from './parse.ts'
import { planPatch } from './plan.ts'

const wrapped = (...lines: string[]) => ['*** Begin Patch', ...lines, '*** End Patch'].join('\n')

async function world(files: Record<string, string> = {}) {
  const own = await openTestWorkspaces()
  const workspace = await own.open()
  const at = (...name: string[]) => join(workspace.workingDir, ...name)
  await mkdir(at('sub'), { recursive: true })
  for (const [name, text] of Object.entries(files)) await writeFile(at(name), text)
  const tool = applyPatchTool()
  const notes = await openTestNotes()
  const services = { notes: await notes.of(asConversationId('c1')) }
  let calls = 0
  const context = (callId: string, over: Partial<ToolContext['workspace']> = {}): ToolContext => ({
    conversationId: asConversationId('c1'),
    callId,
    workspace: new Proxy(workspace, {
      get: (of, member) => {
        if (member in over) return Reflect.get(over, member) as unknown
        const value: unknown = Reflect.get(of, member)
        return typeof value === 'function' ? value.bind(of) : value
      },
    }),
    dataDir: own.dir.file('own'),
    secretsFor: () => Promise.resolve({}),
    services,
    signal: never,
  })
  return {
    dir: own.dir,
    at,
    workspace,
    context,
    read: (name: string) => readFile(at(name), 'utf8').catch(() => null),
    patch: async (patch: string, callId = `call-${++calls}`, over: Partial<ToolContext['workspace']> = {}) =>
      (await tool.execute(tool.parse({ patch }), context(callId, over))) as Extract<
        Observation,
        { kind: 'ApplyPatchObservation' }
      >,
    recover: (patch: string, callId: string, state: 'absent' | 'unknown' = 'absent') =>
      tool.recover({ id: asEventId(callId), action: tool.parse({ patch }) } as ActionEvent, { state }, context(callId)),
    resources: (patch: string) => tool.resources(tool.parse({ patch }), workspace),
    async [Symbol.asyncDispose]() {
      await notes[Symbol.asyncDispose]()
      await own[Symbol.asyncDispose]()
    },
  }
}

test('a patch adds, updates, moves and deletes files, and its observation carries both contents', async () => {
  await using the = await world({ 'a.txt': 'one\r\ntwo\r\n', 'run.sh': '#!/bin/sh\necho hi\n', 'old.txt': 'bye\n' })
  await chmod(the.at('run.sh'), 0o755)
  await chmod(the.at('a.txt'), 0o600)
  const patch = wrapped(
    '*** Add File: new/deep/b.txt',
    '+hello',
    '*** Update File: a.txt',
    ' one',
    '-two',
    '+TWO',
    '*** Update File: run.sh',
    '*** Move to: bin/start.sh',
    '@@ #!/bin/sh',
    '-echo hi',
    '+echo ho',
    '*** Delete File: old.txt',
  )
  const done = await the.patch(patch)
  expect(done).toMatchObject({ is_error: false, fuzz: 0 })
  expect(done.message).toBe('The patch is applied:\nA new/deep/b.txt\nM a.txt\nR run.sh -> bin/start.sh\nD old.txt')
  expect(await the.read('new/deep/b.txt')).toBe('hello\n')
  expect(await the.read('a.txt')).toBe('one\r\nTWO\r\n')
  expect(await the.read('bin/start.sh')).toBe('#!/bin/sh\necho ho\n')
  expect([await the.read('run.sh'), await the.read('old.txt')]).toEqual([null, null])
  expect([(await stat(the.at('bin/start.sh'))).mode & 0o777, (await stat(the.at('a.txt'))).mode & 0o777]).toEqual([
    0o755, 0o600,
  ])
  expect(done.commit).toEqual({
    changes: {
      'new/deep/b.txt': { type: 'add', old_content: null, new_content: 'hello\n', move_path: null },
      'a.txt': { type: 'update', old_content: 'one\r\ntwo\r\n', new_content: 'one\r\nTWO\r\n', move_path: null },
      'run.sh': {
        type: 'update',
        old_content: '#!/bin/sh\necho hi\n',
        new_content: '#!/bin/sh\necho ho\n',
        move_path: 'bin/start.sh',
      },
      'old.txt': { type: 'delete', old_content: 'bye\n', new_content: null, move_path: null },
    },
  })
  expect(the.resources(patch)).toEqual(
    ['new/deep/b.txt', 'a.txt', 'run.sh', 'bin/start.sh', 'old.txt'].map((name) => `file:${the.at(name)}`),
  )
})

test.each<[string, string[], RegExp]>([
  ['a missing file', ['*** Delete File: none.txt'], /Missing file: none\.txt/],
  ['an added file that exists', ['*** Add File: a.txt', '+x'], /a\.txt exists already/],
  ['a move onto a file', ['*** Update File: b.txt', '*** Move to: a.txt'], /a\.txt exists already/],
  ['two parts of one file', ['*** Update File: ./a.txt', '-one', '*** Delete File: sub/../a.txt'], /Duplicate path/],
  ['one file through a link', ['*** Update File: a.txt', '-one', '*** Update File: link', '-one'], /Duplicate path/],
  ['lines that are not there', ['*** Update File: a.txt', '-three'], /Context not found in a\.txt/],
  ['a way out', ['*** Add File: ../out.txt', '+x'], /outside the working directory/],
  ['a sibling of the same beginning', ['*** Add File: ../c1-other/x', '+x'], /outside the working directory/],
  ['a way out through a link', ['*** Add File: away/out.txt', '+x'], /outside the working directory/],
  ['a move away', ['*** Update File: a.txt', '*** Move to: ../x'], /Invalid move path/],
  ['a move to an absolute path', ['*** Update File: a.txt', '*** Move to: /tmp/x'], /Invalid move path/],
  ['a link to delete', ['*** Delete File: link'], /is a link/],
  ['a directory', ['*** Update File: sub', '-one'], /is not a file/],
  ['a binary file', ['*** Update File: bin', '-one'], /binary/],
  ['no patch', ['hello'], /Malformed patch/],
])('a patch with %s is refused as a whole', async (_, lines, reason) => {
  await using the = await world({ 'a.txt': 'one\n', 'b.txt': 'two\n', bin: 'a\0b' })
  await symlink('a.txt', the.at('link'))
  await symlink('..', the.at('away'))
  const refused = await the.patch(wrapped('*** Add File: first.txt', '+x', ...lines))
  expect(refused).toMatchObject({ is_error: true, commit: null })
  expect(refused.message).toMatch(reason)
  expect(refused.message).not.toMatch(/undefined|\[object/)
  expect([await the.read('first.txt'), await the.read('a.txt'), await the.read('b.txt')]).toEqual([
    null,
    'one\n',
    'two\n',
  ])
})

test('several sections for one file are applied one after the other, in any order of their lines', async () => {
  await using the = await world({ 'a.txt': 'one\ntwo\nthree\n' })
  const patch = wrapped('*** Update File: a.txt', '-three', '+3', '*** Update File: ./a.txt', '-one', '+1', ' two')
  const observation = await the.patch(patch)
  expect(observation.message).toMatch(/applied:\nM a\.txt$/)
  expect(observation.commit?.changes).toMatchObject({
    'a.txt': { old_content: 'one\ntwo\nthree\n', new_content: '1\ntwo\n3\n' },
  })
  expect(await the.read('a.txt')).toBe('1\ntwo\n3\n')
})

test('an absolute path inside the working directory is accepted', async () => {
  await using the = await world()
  expect(await the.patch(wrapped(`*** Add File: ${the.at('x.txt')}`, '+x'))).toMatchObject({ is_error: false })
  expect(await the.read('x.txt')).toBe('x\n')
})

test('when one file cannot be written, the files before it are restored', async () => {
  await using the = await world({ 'a.txt': 'one\n', 'b.txt': 'two\n' })
  let writes = 0
  const refused = await the.patch(
    wrapped(
      '*** Update File: a.txt',
      '-one',
      '+ONE',
      '*** Add File: c.txt',
      '+c',
      '*** Update File: b.txt',
      '-two',
      '+TWO',
    ),
    'call-x',
    {
      writeFile: (path, data, signal) =>
        path === the.at('b.txt') && ++writes === 1
          ? Promise.reject(Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' }))
          : the.workspace.writeFile(path, data, signal),
    },
  )
  expect(refused).toMatchObject({ is_error: true, message: 'ENOSPC: no space left on device. Nothing was changed.' })
  expect([await the.read('a.txt'), await the.read('b.txt'), await the.read('c.txt')]).toEqual(['one\n', 'two\n', null])
  expect(await the.recover('', 'call-x')).toEqual({ kind: 'execute' })
})

test('an interrupt in the middle of a patch restores all files', async () => {
  await using the = await world({ 'a.txt': 'one\n', 'b.txt': 'two\n' })
  const stop = new AbortController()
  const patch = wrapped('*** Update File: a.txt', '-one', '+ONE', '*** Update File: b.txt', '-two', '+TWO')
  const tool = applyPatchTool()
  const context = the.context('call-i', {
    writeFile: async (path, data, signal) => {
      await the.workspace.writeFile(path, data, signal)
      stop.abort(new Error('interrupted'))
    },
  })
  await expect(tool.execute(tool.parse({ patch }), { ...context, signal: stop.signal })).rejects.toThrow('interrupted')
  expect([await the.read('a.txt'), await the.read('b.txt')]).toEqual(['one\n', 'two\n'])
})

test('the undo of the file editor undoes a patch', async () => {
  await using the = await world({ 'a.txt': 'one\n' })
  await the.patch(wrapped('*** Update File: a.txt', '-one', '+ONE'))
  const editor = fileEditorTool()
  await editor.execute(editor.parse({ command: 'undo_edit', path: the.at('a.txt') }), the.context('call-u'))
  expect(await the.read('a.txt')).toBe('one\n')
})

const CHANGE = wrapped('*** Update File: a.txt', '-one', '+ONE', '*** Add File: c.txt', '+c', '*** Delete File: b.txt')

/** The state left by a process that died after writing `written`. */
async function interrupted(written: readonly string[]) {
  const the = await world({ 'a.txt': 'one\n', 'b.txt': 'two\n' })
  const context = the.context('call-1')
  const plan = await planPatch(parsePatch(CHANGE), context)
  await writePlan(plan, context)
  for (const name of written) {
    const { path, after } = plan.writes.find((write) => write.path === the.at(name))!
    if (after === null) await the.workspace.remove(path, never)
    else await the.workspace.writeFile(path, after, never)
  }
  return the
}

test.each([[[]], [['a.txt']], [['a.txt', 'c.txt']]])(
  'a patch whose process died after %j is completed, once',
  async (written) => {
    await using the = await interrupted(written)
    // Without proof that it was not completed and reverted.
    expect(await the.recover(CHANGE, 'call-1', 'unknown')).toEqual({ kind: 'unknown' })
    expect(await the.recover(CHANGE, 'call-1')).toEqual({ kind: 'execute' })
    expect(await the.patch(CHANGE, 'call-1')).toMatchObject({
      is_error: false,
      message: expect.stringContaining('D b.txt'),
    })
    expect([await the.read('a.txt'), await the.read('b.txt'), await the.read('c.txt')]).toEqual(['ONE\n', null, 'c\n'])
  },
)

test('a patch whose process died after its last file is done, with the earlier contents', async () => {
  await using the = await interrupted(['a.txt', 'c.txt', 'b.txt'])
  expect(await the.recover(CHANGE, 'call-1')).toMatchObject({
    kind: 'done',
    observation: { commit: { changes: { 'a.txt': { old_content: 'one\n', new_content: 'ONE\n' } } } },
  })
})

test('a patch whose files were changed meanwhile has an unknown outcome', async () => {
  await using the = await interrupted(['a.txt'])
  await writeFile(the.at('c.txt'), 'somebody else')
  expect(await the.recover(CHANGE, 'call-1')).toEqual({ kind: 'unknown' })
})

test.each([[[]], [['a.txt']]])('a patch that was applied to %j is not continued without proof', async (written) => {
  await using the = await interrupted(written)
  expect(await the.recover(CHANGE, 'call-1', 'unknown')).toEqual({ kind: 'unknown' })
})

test('a patch that a note of version 0.1.0 names is completed once, and forgotten when it is rolled back', async () => {
  await using the = await interrupted([])
  const context = the.context('call-1')
  const { writes, changes, fuzz } = (await readPlan(context))!
  await forgetPlan(context)
  expect(await readPlan(context)).toBeNull()
  const base64 = (bytes: Uint8Array | null) => (bytes === null ? null : Buffer.from(bytes).toString('base64'))
  const old = writes.map(({ before, after, ...rest }) => ({ ...rest, before: base64(before), after: base64(after) }))
  await mkdir(join(context.dataDir, 'apply_patch'), { recursive: true })
  const note = JSON.stringify({ call_id: 'call-1', writes: old, changes, fuzz })
  await writeFile(join(context.dataDir, 'apply_patch', 'call-1.json'), note)
  expect(await the.patch(CHANGE, 'call-1')).toMatchObject({ is_error: false })
  expect(await the.recover(CHANGE, 'call-1', 'unknown')).toMatchObject({ kind: 'done' })
  await forgetPlan(context)
  expect(await readPlan(context)).toBeNull()
})
