import { asConversationId, asEventId, type ActionEvent, type FileEditorObservation } from '@parley/protocol'
import fc from 'fast-check'
import { chmod, mkdir, readFile, stat, symlink, writeFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { openTestNotes } from '../../../testing/call-notes.ts'
import { bmpOf, dataUrl, gifOf, jpegOf, LFS_POINTER, pngOf } from '../../../testing/images.ts'
import { own } from '../../../testing/store-fixtures.ts'
import { tempDir } from '../../../testing/temp.ts'
import { openTransport } from '../../llm/index.ts'
import { openEgress } from '../../egress/index.ts'
import { openLocalWorkspaces } from '../../workspace/index.ts'
import type { ToolContext } from '../tool.ts'
import { fileEditorTool } from './file-editor-tool.ts'
import { History } from './history.ts'
import { hashOf, readNote } from './notes.ts'
import { OWNER, testRoots } from '../../../testing/roots.ts'

type Args = Record<string, unknown>
const CONVERSATION = asConversationId('00000000-0000-4000-8000-000000000000')
const never = new AbortController().signal

async function bench(options: { confine?: boolean } = {}) {
  const dir = await tempDir()
  await mkdir(dir.file('work'))
  const tool = fileEditorTool(options)
  const workspaces = openLocalWorkspaces({ dataDir: dir.file('server'), roots: testRoots(dir.file('server')) })
  const spec = { conversationId: CONVERSATION, owner: OWNER, workingDir: dir.file('work'), epoch: 1 }
  const workspace = await workspaces.open(spec, never)
  const notes = await openTestNotes()
  const transport = openTransport({ egress: openEgress([]) })
  const { shrinker } = transport
  const services = { notes: await notes.of(CONVERSATION), checksSyntax: true, shrinker }
  let calls = 0
  const context = (callId: string): ToolContext => ({
    conversationId: CONVERSATION,
    callId,
    workspace,
    dataDir: dir.file('data'),
    secretsFor: () => Promise.resolve({}),
    services,
    signal: never,
  })
  const call = async (args: Args, callId = `call-${++calls}`): Promise<FileEditorObservation & { text: string }> => {
    const observation = (await tool.execute(tool.parse(args), context(callId))) as FileEditorObservation
    const [first] = observation.content
    return { ...observation, text: first?.type === 'text' ? first.text : '' }
  }
  const recover = (args: Args, callId: string, state: 'absent' | 'unknown' = 'absent') => {
    const event = { id: asEventId(callId), action: tool.parse(args) } as ActionEvent
    return tool.recover(event, { state }, context(callId))
  }
  return {
    dir,
    storage: notes.storage,
    context,
    call,
    recover,
    at: (name: string) => dir.file('work', name),
    async [Symbol.asyncDispose]() {
      await workspaces[Symbol.asyncDispose]()
      await notes[Symbol.asyncDispose]()
      transport[Symbol.dispose]()
      await dir[Symbol.asyncDispose]()
    },
  }
}

const read = (path: string): Promise<string> => readFile(path, 'utf8')
const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  )

test('create, edit and undo return a description and both contents', async () => {
  await using at = await bench()
  const path = at.at('deep/new.txt')
  const created = await at.call({ command: 'create', path, file_text: 'one\ntwo\n' })
  expect(created).toMatchObject({ is_error: false, prev_exist: false, old_content: null, new_content: 'one\ntwo\n' })
  expect(created.text).toBe(`File created successfully at: ${path}`)
  const edited = await at.call({ command: 'str_replace', path, old_str: 'two', new_str: '2' })
  expect(edited).toMatchObject({ prev_exist: true, old_content: 'one\ntwo\n', new_content: 'one\n2\n' })
  expect(edited.text).toContain('     2\t2')
  await at.call({ command: 'insert', path, insert_line: 1, new_str: 'more' })
  expect(await read(path)).toBe('one\nmore\n2\n')
  await at.call({ command: 'undo_edit', path })
  await at.call({ command: 'undo_edit', path })
  expect(await read(path)).toBe('one\ntwo\n')
  expect(await at.call({ command: 'undo_edit', path })).toMatchObject({
    is_error: false,
    prev_exist: false,
    new_content: null,
  })
  expect(await exists(path)).toBe(false)
})

test.each([
  ['     1\tone\n     2\ttwo', '     1\t1\n     2\t2', /The line numbers in old_str and new_str were left out\./],
  ['one\\ntwo', 'one\\n  2', /The characters \\n in old_str and new_str were read as line breaks\./],
  ['  two', '  2', /matched these lines only with other white space/],
])('an edit of %j reports how it was read', async (old_str, new_str, expected) => {
  await using at = await bench()
  const path = at.at('a.txt')
  await writeFile(path, 'one\ntwo\n')
  expect((await at.call({ command: 'str_replace', path, old_str, new_str })).text).toMatch(expected)
})

test('a result names a syntax error that the file has after the edit', async () => {
  await using at = await bench()
  const path = at.at('a.json')
  const created = await at.call({ command: 'create', path, file_text: '{"a" 1}\n' })
  expect(created.text).toMatch(/created successfully at: .*\n\[Syntax error in a\.json, line 1: .*correct it\.\]$/)
  const edited = await at.call({ command: 'str_replace', path, old_str: ' 1', new_str: ' 2' })
  expect(edited.text).toMatch(/if it is not\.\n\[Syntax error .*before this edit, too\.\]$/)
  expect(await at.call({ command: 'str_replace', path, old_str: ' 2', new_str: ': 2' })).toMatchObject({
    is_error: false,
    text: expect.not.stringContaining('Syntax'),
  })
})

test('undo shows the restored lines and four around them, not the whole file', async () => {
  await using at = await bench()
  const path = at.at('long.txt')
  const lines = Array.from({ length: 2000 }, (_, index) => `line ${index + 1}`)
  await writeFile(path, `${lines.join('\n')}\n`)
  await at.call({ command: 'str_replace', path, old_str: 'line 900\n', new_str: 'line 900\nmore\n' })
  const one = await at.call({ command: 'undo_edit', path })
  expect(one.text).toMatch(/undone\. The restored lines .*:\n +897\tline 897\n[^]* 904\tline 904$/)
  expect(one.text.split('\n')).toHaveLength(9)
  await at.call({ command: 'str_replace', path, old_str: lines.slice(99, 399).join('\n'), new_str: 'short' })
  const many = await at.call({ command: 'undo_edit', path })
  expect(many.text).toMatch(/ 96\tline 96\n[^]* 125\tline 125\n\[248 lines left out; [^]* 403\tline 403$/)
  expect(await read(path)).toBe(`${lines.join('\n')}\n`)
})

test('undo restores bytes and mode of any file after any edit', async () => {
  await using at = await bench()
  let n = 0
  const ending = fc.constantFrom('\n', '\r\n', '')
  const body = fc.array(fc.tuple(fc.string({ unit: 'grapheme', maxLength: 8 }), ending), { minLength: 1, maxLength: 6 })
  await fc.assert(
    fc.asyncProperty(
      body,
      fc.constantFrom<BufferEncoding>('utf8', 'latin1'),
      fc.nat(9),
      async (lines, encoding, line) => {
        const path = at.at(`file-${++n}`)
        const bytes = Buffer.from(
          `${lines.map((parts) => parts.join('')).join('')}#mark#`.replaceAll('\0', ''),
          encoding,
        )
        await writeFile(path, bytes, { mode: 0o640 })
        await chmod(path, 0o750)
        const replaced = await at.call({ command: 'str_replace', path, old_str: '#mark#', new_str: 'a\nb 🌲' })
        const inserted = await at.call({ command: 'insert', path, insert_line: line, new_str: 'x\ny' })
        for (const { is_error } of [inserted, replaced]) if (!is_error) await at.call({ command: 'undo_edit', path })
        expect(await readFile(path)).toEqual(bytes)
        expect((await stat(path)).mode & 0o777).toBe(0o750)
      },
    ),
    { numRuns: 60 },
  )
})

test.each<[string, Args, RegExp]>([
  ['a relative path', { command: 'view', path: 'a.txt' }, /not absolute.*Did you mean .*\/work\/a\.txt/],
  ['a missing file', { command: 'view', path: '/WORK/none' }, /does not exist/],
  ['create over a file', { command: 'create', path: '/WORK/a.txt', file_text: 'x' }, /exists already/],
  ['create without a text', { command: 'create', path: '/WORK/b.txt' }, /file_text is required for the command create/],
  ['replace without a new text', { command: 'str_replace', path: '/WORK/a.txt', old_str: 'a' }, /new_str is required/],
  ['insert without a line', { command: 'insert', path: '/WORK/a.txt', new_str: 'a' }, /insert_line is required/],
  [
    'insert beyond the end',
    { command: 'insert', path: '/WORK/a.txt', insert_line: 3, new_str: 'a' },
    /between 0 and 2/,
  ],
  ['undo without an edit', { command: 'undo_edit', path: '/WORK/a.txt' }, /no edit history/],
  [
    'edit of a directory',
    { command: 'str_replace', path: '/WORK', old_str: 'a', new_str: 'b' },
    /only view works on directories/,
  ],
  ['edit of a binary file', { command: 'str_replace', path: '/WORK/x.bin', old_str: 'a', new_str: 'b' }, /binary file/],
  ['a range on a directory', { command: 'view', path: '/WORK', view_range: [1, 2] }, /for files/],
  ['a range of three', { command: 'view', path: '/WORK/a.txt', view_range: [1, 2, 3] }, /list of two/],
  ['a range that starts outside', { command: 'view', path: '/WORK/a.txt', view_range: [3, 4] }, /between 1 and 2/],
  ['a range that ends early', { command: 'view', path: '/WORK/a.txt', view_range: [2, 1] }, /before it starts/],
])('the command with %s is refused and changes nothing', async (_name, args, reason) => {
  await using at = await bench()
  await writeFile(at.at('a.txt'), 'a\r\nb')
  await writeFile(at.at('x.bin'), Buffer.from([97, 0, 98]))
  const path = String(args['path']).replace('/WORK', at.dir.file('work'))
  const result = await at.call({ ...args, path })
  expect(result).toMatchObject({ is_error: true, old_content: null, new_content: null })
  expect(result.text).toMatch(reason)
  expect(await read(at.at('a.txt'))).toBe('a\r\nb')
  expect(await exists(at.at('b.txt'))).toBe(false)
})

test('a file is shown with line numbers, or a range of it, with a note at its end', async () => {
  await using at = await bench()
  const path = at.at('a.txt')
  await writeFile(path, 'a\n\tb\nc')
  expect((await at.call({ command: 'view', path })).text).toContain('     1\ta\n     2\t\tb\n     3\tc')
  expect((await at.call({ command: 'view', path, view_range: [2, -1] })).text).toMatch(/:\n {5}2\t\tb\n {5}3\tc$/)
  expect((await at.call({ command: 'view', path, view_range: [3, 9] })).text).toMatch(/NOTE: the file ends at line 3/)
})

test('a directory is shown two levels deep without hidden entries', async () => {
  await using at = await bench()
  await mkdir(at.at('a/b/c'), { recursive: true })
  await writeFile(at.at('.hidden'), '')
  const { text } = await at.call({ command: 'view', path: at.dir.file('work') })
  expect(text).toContain(`${at.at('a/')}\n${at.at('a/b/')}`)
  expect(text).not.toMatch(/a\/b\/c|\.hidden/)
  expect(text).toContain('1 hidden entry')
})

test.each([
  ['a.png', pngOf({ width: 4, height: 4 }), 'image/png'],
  ['named-otherwise.png', jpegOf({ width: 4, height: 4 }), 'image/jpeg'],
  ['without-extension', gifOf({ width: 4, height: 4 }), 'image/gif'],
])('the image %s is shown with the type of its content', async (name, bytes, type) => {
  await using at = await bench()
  await writeFile(at.at(name), bytes)
  const { is_error, text, content } = await at.call({ command: 'view', path: at.at(name) })
  expect([is_error, text]).toEqual([false, `The image ${at.at(name)}:`])
  expect(content[1]).toMatchObject({ type: 'image', image_urls: [dataUrl(type, bytes)] })
})

test('a large image is shown smaller, and the result says so', async () => {
  await using at = await bench()
  await writeFile(at.at('wide.png'), pngOf({ width: 2400, height: 60 }))
  const { text, content } = await at.call({ command: 'view', path: at.at('wide.png') })
  expect(text).toMatch(/made smaller from 2400 × 60 to 2000 × 50 pixels:$/)
  expect(content[1]).toMatchObject({ image_urls: [expect.stringMatching(/^data:image\/png;base64,/)] })
})

test.each<[string, Uint8Array, RegExp]>([
  ['pointer.png', LFS_POINTER, /is a pointer of Git LFS: .*`git lfs pull`/],
  ['a.bmp', bmpOf({ width: 4, height: 4 }), /is a BMP image, .*`convert '.*a\.bmp' '.*a\.png'`\.$/],
  ['b.png', bmpOf({ width: 4, height: 4 }), /is a BMP image/],
  ['bitmap', bmpOf({ width: 4, height: 4 }), /is a BMP image/],
  ['a.tiff', Buffer.from('49492a0008000000', 'hex'), /is a TIFF image, .*`convert /],
  [
    "it's.heic",
    Buffer.from('\0\0\0\x18ftypheic\0\0\0\0', 'latin1'),
    /is an HEIC image, .*`heif-convert '.*it'\\''s\.heic' /,
  ],
  ['drawing.png', Buffer.from('<svg></svg>'), /is an SVG drawing, .*`rsvg-convert -o '.*\.png' '.*'`/],
  ['empty.png', Buffer.alloc(0), /is an empty file\. Create or copy the file again\./],
  ['page.png', Buffer.from('<!doctype html><title>404</title>'), /is an HTML page\. Read it with the terminal\./],
  [
    'cut.png',
    pngOf({ width: 40, height: 40 }).subarray(0, -20),
    /is a PNG image whose end is missing\. Create or copy/,
  ],
  ['head.jpg', jpegOf({ width: 4, height: 4 }).subarray(0, 8), /is a damaged image/],
  ['large.png', Buffer.alloc(21 * 1024 * 1024), /at most 20971520 of an image can be viewed\. .*`convert '.*' -resize/],
])('the file %s is refused: it says what the file is, and what to do', async (name, bytes, words) => {
  await using at = await bench()
  await writeFile(at.at(name), bytes)
  const { is_error, text, content } = await at.call({ command: 'view', path: at.at(name) })
  expect([is_error, content.length]).toEqual([true, 1])
  expect(text.startsWith(at.at(name))).toBe(true)
  expect(text).toMatch(words)
})

test('a drawing in SVG is shown as the text that it is', async () => {
  await using at = await bench()
  await writeFile(at.at('a.svg'), '<svg></svg>')
  expect((await at.call({ command: 'view', path: at.at('a.svg') })).text).toContain('<svg></svg>')
})

test('with confine, paths outside are refused, through dots and through symlinks', async () => {
  await using at = await bench({ confine: true })
  await writeFile(at.dir.file('secret'), 'x')
  await symlink(at.dir.path, at.at('link'))
  for (const path of [at.dir.file('secret'), `${at.dir.file('work')}/../secret`, at.at('link/secret')]) {
    const { is_error, text } = await at.call({ command: 'view', path })
    expect([is_error, text]).toEqual([true, expect.stringContaining('Operation not allowed')])
  }
  expect((await at.call({ command: 'create', path: at.at('link/new'), file_text: '' })).is_error).toBe(true)
  await symlink(at.dir.file('not-yet'), at.at('dangling'))
  expect((await at.call({ command: 'create', path: at.at('dangling'), file_text: '' })).is_error).toBe(true)
  expect((await at.call({ command: 'create', path: at.at('new/file'), file_text: '' })).is_error).toBe(false)
})

test('ten edits can be undone, the eleventh is forgotten', async () => {
  await using at = await bench()
  const path = at.at('n')
  await writeFile(path, 'n0')
  for (let n = 0; n < 12; n++) await at.call({ command: 'str_replace', path, old_str: `n${n}`, new_str: `n${n + 1}` })
  const undone = []
  for (let n = 0; n < 11; n++) undone.push((await at.call({ command: 'undo_edit', path })).is_error)
  expect(undone).toEqual([...Array.from({ length: 10 }, () => false), true])
  expect(await read(path)).toBe('n2')
})

test('after a crash the note shows whether an edit took place', async () => {
  await using at = await bench()
  const path = at.at('a.txt')
  await writeFile(path, 'one')
  const args = { command: 'str_replace', path, old_str: 'one', new_str: 'two' }
  expect(await at.recover(args, 'edit')).toEqual({ kind: 'execute' })
  await at.call(args, 'edit')
  expect(await at.recover(args, 'edit')).toMatchObject({
    kind: 'done',
    observation: { is_error: false, prev_exist: true, old_content: 'one', new_content: 'two' },
  })
  await writeFile(path, 'one')
  expect(await at.recover(args, 'edit')).toEqual({ kind: 'execute' })
  // Without proof that it did not take place: it may have, and been reverted.
  expect(await at.recover(args, 'edit', 'unknown')).toEqual({ kind: 'unknown' })
  await writeFile(path, 'someone else was here')
  expect(await at.recover(args, 'edit')).toEqual({ kind: 'unknown' })
})

test('an edit that a note announces is not executed when the note is not proven to be the newest', async () => {
  await using at = await bench()
  const path = at.at('a.txt')
  await writeFile(path, 'one')
  const args = { command: 'str_replace', path, old_str: 'one', new_str: 'two' }
  await at.call(args, 'edit')
  expect(await at.recover(args, 'edit', 'unknown')).toMatchObject({ kind: 'done' })
  // As after an undo that the restored store does not know.
  await writeFile(path, 'one')
  expect(await at.recover(args, 'edit', 'unknown')).toEqual({ kind: 'unknown' })
})

test('an edit that a note of version 0.1.0 names is not applied twice', async () => {
  await using at = await bench()
  const path = at.at('a.txt')
  await writeFile(path, 'one')
  const args = { command: 'insert', path, insert_line: 1, new_str: 'two' }
  await mkdir(at.dir.file('data', 'file_editor', 'notes'), { recursive: true })
  const [before, after] = [hashOf(Buffer.from('one')), hashOf(Buffer.from('one\ntwo'))]
  const old = JSON.stringify({ call_id: 'old-call', path, before, after })
  await writeFile(at.dir.file('data', 'file_editor', 'notes', 'old-call.json'), old)
  expect(await at.recover(args, 'old-call')).toEqual({ kind: 'execute' })
  await writeFile(path, 'one\ntwo')
  expect(await at.recover(args, 'old-call', 'unknown')).toMatchObject({
    kind: 'done',
    observation: { is_error: false, new_content: 'one\ntwo' },
  })
  await writeFile(path, 'somebody else')
  expect(await at.recover(args, 'old-call')).toEqual({ kind: 'unknown' })
})

test('an edit whose note is refused changes nothing', async () => {
  await using at = await bench()
  const path = at.at('a.txt')
  await writeFile(path, 'one')
  await own(at.storage, CONVERSATION)
  const refused = await at.call({ command: 'insert', path, insert_line: 1, new_str: 'two' }, 'late')
  expect([refused.is_error, refused.text]).toEqual([true, expect.stringContaining('has another owner')])
  expect(await read(path)).toBe('one')
  expect(await readNote(at.context('late'))).toBeNull()
})

test('an edit executed again after a crash is recorded once', async () => {
  await using at = await bench()
  const path = at.at('a.txt')
  await writeFile(path, 'zero')
  await at.call({ command: 'str_replace', path, old_str: 'zero', new_str: 'one' })
  const args = { command: 'str_replace', path, old_str: 'one', new_str: 'two' }
  await at.call(args, 'edit')
  await writeFile(path, 'one')
  await at.call(args, 'edit')
  await at.call({ command: 'undo_edit', path })
  await at.call({ command: 'undo_edit', path })
  expect(await read(path)).toBe('zero')
})

test('an undo interrupted by a crash is completed once', async () => {
  await using at = await bench()
  const path = at.at('a.txt')
  await at.call({ command: 'create', path, file_text: 'one' })
  await at.call({ command: 'str_replace', path, old_str: 'one', new_str: 'two' }, 'edit')
  const history = new History(at.dir.file('data'))
  const past = await history.newest(path)
  await at.call({ command: 'undo_edit', path }, 'undo')
  // As if the server had died between restoring the file and forgetting the restored content.
  await history.remember(path, 'edit', past!.bytes as Uint8Array)
  expect(await at.recover({ command: 'undo_edit', path }, 'undo')).toMatchObject({
    kind: 'done',
    observation: { new_content: 'one' },
  })
  await at.call({ command: 'undo_edit', path })
  expect(await exists(path)).toBe(false)
})
