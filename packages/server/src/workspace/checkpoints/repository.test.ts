import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { asConversationId } from '@parley/protocol'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { fileTree } from '../../../testing/file-tree.ts'
import { never, openTestWorkspaces, type TestWorkspaces } from '../workspace.testing.ts'
import { MAX_FILE_BYTES } from './changes.ts'
import type { CheckpointPlace } from './git.ts'

let here: TestWorkspaces
beforeAll(async () => {
  here = await openTestWorkspaces()
})
afterAll(() => here[Symbol.asyncDispose]())

let count = 0

/** An empty workspace and its checkpoints. */
function openPlaceOf(from: TestWorkspaces = here) {
  const name = `files-${count++}`
  const dir = from.dir.file('workspaces', name)
  mkdirSync(dir, { recursive: true })
  mkdirSync(from.dir.file('folders', name), { recursive: true })
  const place: CheckpointPlace = {
    conversationId: asConversationId(name),
    epoch: 1,
    workingDir: dir,
    inside: from.dir.file('workspaces'),
    gitDir: from.dir.file('folders', name, 'checkpoints.git'),
  }
  const file = (...parts: string[]) => join(dir, ...parts)
  const write = (path: string, text: string | Buffer) => {
    mkdirSync(join(dir, path, '..'), { recursive: true })
    writeFileSync(file(path), text)
  }
  const git = (...args: string[]) => {
    const who = { GIT_AUTHOR_NAME: 'a', GIT_AUTHOR_EMAIL: 'a@b', GIT_COMMITTER_NAME: 'a', GIT_COMMITTER_EMAIL: 'a@b' }
    return execFileSync('git', args, { cwd: dir, env: { PATH: process.env['PATH'], HOME: dir, ...who } }).toString()
  }
  return {
    dir,
    place,
    file,
    write,
    git,
    files: () => fileTree(dir),
    repository: from.workspaces.checkpoints!.open(place),
  }
}

type Opened = ReturnType<typeof openPlaceOf>

/** Removes everything from the workspace, then makes its files those of the tree. */
async function restoredInEmpty({ dir, repository, files }: Opened, tree: string): Promise<Record<string, string>> {
  for (const name of readdirSync(dir)) if (name !== '.git') rmSync(join(dir, name), { recursive: true, force: true })
  await repository.checkOut(tree, never)
  return files()
}

describe('a checkpoint', () => {
  test('contains tracked and untracked files with modes and symlinks, and no ignored ones', async () => {
    const at = openPlaceOf()
    at.git('init', '-q')
    at.write('tracked.txt', 'one')
    at.git('add', '.')
    at.git('commit', '-qm', 'first')
    at.write('untracked/deep/file', 'two')
    at.write('.gitignore', 'ignored\n')
    at.write('ignored', 'secret')
    at.write('script.sh', '#!/bin/sh\n')
    chmodSync(at.file('script.sh'), 0o755)
    symlinkSync('tracked.txt', at.file('link'))
    const before = at.files()
    const tree = await at.repository.take(never)
    const { ignored: _, ...kept } = before
    expect(await restoredInEmpty(at, tree)).toEqual(kept)
  })

  test('contains a file that the repository tracks although it is ignored', async () => {
    const at = openPlaceOf()
    at.git('init', '-q')
    at.write('.gitignore', '*.log\n')
    at.write('kept.log', 'tracked')
    at.write('other.log', 'untracked')
    at.git('add', '-f', 'kept.log')
    const tree = await at.repository.take(never)
    expect(await restoredInEmpty(at, tree)).toEqual({ '.gitignore': '*.log\n', 'kept.log': 'tracked' })
  })

  test('loses a file that becomes ignored', async () => {
    const at = openPlaceOf()
    at.write('build/out', '1')
    at.write('a', 'a')
    await at.repository.take(never)
    at.write('.gitignore', 'build\n')
    const tree = await at.repository.take(never)
    expect(await restoredInEmpty(at, tree)).toEqual({ '.gitignore': 'build\n', a: 'a' })
  })

  test('of unchanged files is the same tree, and of changed, added and deleted ones another', async () => {
    const at = openPlaceOf()
    at.write('a', '1')
    at.write('b', '1')
    const first = await at.repository.take(never)
    expect(await at.repository.take(never)).toBe(first)
    at.write('a', '2')
    rmSync(at.file('b'))
    at.write('c', '3')
    const second = await at.repository.take(never)
    expect(second).not.toBe(first)
    expect(await at.repository.changes(first, second, 10, never)).toEqual({
      count: 3,
      files: [
        { status: 'changed', path: 'a' },
        { status: 'deleted', path: 'b' },
        { status: 'added', path: 'c' },
      ],
    })
    expect(await restoredInEmpty(at, first)).toEqual({ a: '1', b: '1' })
  })

  test('of an empty workspace can be restored, and creates no git directory', async () => {
    const at = openPlaceOf()
    const tree = await at.repository.take(never)
    expect(existsSync(at.place.gitDir)).toBe(false)
    at.write('a', '1')
    await at.repository.take(never)
    await at.repository.checkOut(tree, never)
    expect(at.files()).toEqual({})
  })

  test('contains the files of repositories inside the workspace, and their later files', async () => {
    const at = openPlaceOf()
    for (const folder of ['sub', 'sub/deeper']) {
      mkdirSync(at.file(folder), { recursive: true })
      execFileSync('git', ['init', '-q'], { cwd: at.file(folder) })
      at.write(`${folder}/.gitignore`, 'skipped\n')
      at.write(`${folder}/skipped`, '')
      at.write(`${folder}/kept`, folder)
    }
    await at.repository.take(never)
    at.write('sub/later', 'x')
    at.write('sub/kept', 'changed')
    const tree = await at.repository.take(never)
    const { 'sub/skipped': _, 'sub/deeper/skipped': __, ...kept } = at.files()
    expect(await restoredInEmpty(at, tree)).toEqual(kept)
    expect(kept).toMatchObject({ 'sub/later': 'x', 'sub/deeper/kept': 'sub/deeper' })
  })

  test('leaves out files above the limit, and one that grows above it', async () => {
    const at = openPlaceOf()
    at.write('large', '')
    truncateSync(at.file('large'), MAX_FILE_BYTES + 1)
    at.write('grows', 'small')
    at.write('small', 'x')
    const first = await at.repository.take(never)
    truncateSync(at.file('grows'), MAX_FILE_BYTES + 1)
    const second = await at.repository.take(never)
    expect(await at.repository.take(never)).toBe(second)
    expect((await at.repository.changes(first, second, 10, never)).files).toEqual([
      { status: 'deleted', path: 'grows' },
    ])
    expect(Object.keys(await restoredInEmpty(at, first))).toEqual(['grows', 'small'])
  })

  test('follows a file that becomes a directory, and a directory that becomes a symlink', async () => {
    const at = openPlaceOf()
    at.write('a', 'file')
    at.write('d/inner', 'inner')
    const first = await at.repository.take(never)
    rmSync(at.file('a'))
    at.write('a/inner', 'now a folder')
    renameSync(at.file('d'), at.file('moved'))
    symlinkSync('moved', at.file('d'))
    const second = await at.repository.take(never)
    expect(await restoredInEmpty(at, first)).toEqual({ a: 'file', 'd/inner': 'inner' })
    expect(await restoredInEmpty(at, second)).toEqual({
      'a/inner': 'now a folder',
      d: '-> moved',
      'moved/inner': 'inner',
    })
  })

  test('survives the end of the git that made it, which left its lock behind', async () => {
    const at = openPlaceOf()
    at.write('a', '1')
    const first = await at.repository.take(never)
    writeFileSync(join(at.place.gitDir, 'index.lock'), '')
    at.write('a', '2')
    const again = here.workspaces.checkpoints!.open(at.place)
    expect(await again.take(never)).not.toBe(first)
  })
})

describe('restoring', () => {
  test('leaves ignored files alone, and records those in its way first', async () => {
    const at = openPlaceOf()
    at.write('notes', 'first')
    const first = await at.repository.take(never)
    at.write('.gitignore', 'notes\nother\n')
    at.write('notes', 'ignored now')
    at.write('other', 'stays')
    const before = await at.repository.takeBefore(first, never)
    await at.repository.checkOut(first, never)
    expect(at.files()).toEqual({ notes: 'first', other: 'stays' })
    expect(await restoredInEmpty(at, before)).toMatchObject({ notes: 'ignored now', '.gitignore': 'notes\nother\n' })
  })

  test('packed checkpoints can be restored, and forgotten ones are removed', async () => {
    const at = openPlaceOf()
    const trees: string[] = []
    for (const text of ['one', 'two', 'three']) {
      at.write('a', text)
      const tree = await at.repository.take(never)
      await at.repository.keep(tree)
      trees.push(tree)
    }
    expect(await at.repository.pack(never)).toBeGreaterThan(0)
    expect(await restoredInEmpty(at, trees[0]!)).toEqual({ a: 'one' })
    await at.repository.forgetExcept(trees.slice(1), never)
    await restoredInEmpty(at, trees[2]!)
    await at.repository.pack(never)
    expect(await restoredInEmpty(at, trees[1]!)).toEqual({ a: 'two' })
    await expect(at.repository.checkOut(trees[0]!, never)).rejects.toMatchObject({
      code: 'unavailable',
      details: { reason: 'checkpoint_failed' },
    })
  })
})

describe('a hostile workspace', () => {
  test('executes nothing and changes no content: attributes, filters, hooks and configuration have no effect', async () => {
    const at = openPlaceOf()
    at.git('init', '-q')
    const trap = here.dir.file(`executed-${count}`)
    const evil = `sh -c 'touch ${trap}; cat'`
    for (const [key, value] of [
      ['filter.evil.clean', evil],
      ['filter.evil.smudge', evil],
      ['filter.evil.process', evil],
      ['core.fsmonitor', `touch ${trap}; false`],
      ['core.hooksPath', at.file('hooks')],
      ['diff.evil.textconv', evil],
    ] as const)
      at.git('config', key, value)
    at.write(
      '.gitattributes',
      '* text eol=crlf ident filter=evil diff=evil working-tree-encoding=UTF-16\n[attr]evil -text\n',
    )
    for (const folder of ['hooks', '.git/hooks']) {
      for (const hook of ['post-checkout', 'post-index-change', 'pre-commit']) {
        at.write(`${folder}/${hook}`, `#!/bin/sh\ntouch ${trap}\n`)
        chmodSync(at.file(folder, hook), 0o755)
      }
    }
    at.write('crlf', 'a\r\nb\n$Id$\n')
    at.write('binary', Buffer.from([0xff, 0xfe, 0, 13, 10, 0x80]))
    const before = at.files()
    const tree = await at.repository.take(never)
    expect(await restoredInEmpty(at, tree)).toEqual(before)
    expect(existsSync(trap)).toBe(false)
  })

  test('cannot point git elsewhere with a .git file, nor hide files with a broken repository', async () => {
    const at = openPlaceOf()
    const other = openPlaceOf()
    other.git('init', '-q')
    at.write('.git', `gitdir: ${other.file('.git')}\n`)
    at.write('inner/.git', 'gitdir: /etc\n')
    at.write('inner/file', 'x')
    mkdirSync(at.file('broken/.git'), { recursive: true })
    at.write('broken/file', 'y')
    at.write('a', '1')
    const indexes = readdirSync(other.file('.git')).toSorted()
    const tree = await at.repository.take(never)
    rmSync(at.file('a'))
    await at.repository.checkOut(tree, never)
    expect(at.files()).toEqual({ a: '1', 'broken/file': 'y', 'inner/file': 'x' })
    expect(readFileSync(at.file('.git'), 'utf8')).toBe(`gitdir: ${other.file('.git')}\n`)
    expect(readdirSync(other.file('.git')).toSorted()).toEqual(indexes)
  })

  test('cannot lead git out of the workspace through symlinks, neither to read nor to write', async () => {
    const at = openPlaceOf()
    const outside = here.dir.file(`outside-${count++}`)
    mkdirSync(outside)
    at.write('d/file', 'inside')
    at.write('.gitignore', '')
    const first = await at.repository.take(never)
    writeFileSync(join(outside, 'file'), 'outside')
    rmSync(at.file('d'), { recursive: true })
    symlinkSync(outside, at.file('d'))
    // Ignored, so that git sees the file through the link only.
    at.write('.gitignore', 'd\n')
    const second = await at.repository.take(never)
    expect((await at.repository.changes(first, second, 10, never)).files).toContainEqual({
      status: 'deleted',
      path: 'd/file',
    })
    await at.repository.checkOut(first, never)
    expect(readFileSync(join(outside, 'file'), 'utf8')).toBe('outside')
    expect(at.files()).toEqual({ '.gitignore': '', 'd/file': 'inside' })
  })

  test('is refused when the working directory itself leads elsewhere', async () => {
    const at = openPlaceOf()
    at.write('a', '1')
    const tree = await at.repository.take(never)
    const outside = here.dir.file(`elsewhere-${count++}`)
    mkdirSync(outside)
    renameSync(at.dir, `${at.dir}-moved`)
    symlinkSync(outside, at.dir)
    const refusal = { code: 'unavailable', details: { reason: 'checkpoint_outside' } }
    await expect(at.repository.take(never)).rejects.toMatchObject(refusal)
    await expect(at.repository.checkOut(tree, never)).rejects.toMatchObject(refusal)
    expect(readdirSync(outside)).toEqual([])
  })

  test('may have any names: line breaks, bytes that are no text, options, names that other systems reserve', async () => {
    const at = openPlaceOf()
    const names = ['new\nline', ' space ', '--all', '"quoted"', 'back\\slash', 'git~1', ':(top)x', '*', 'tab\t']
    for (const name of names) writeFileSync(at.file(name), name)
    for (const bytes of [
      [0xff, 0xfe],
      [0x80, 0x2e, 0x0a],
    ])
      writeFileSync(Buffer.concat([Buffer.from(`${at.dir}/`), Buffer.from(bytes)]), 'bytes')
    const before = at.files()
    expect(Object.keys(before)).toHaveLength(names.length + 2)
    const tree = await at.repository.take(never)
    expect(await restoredInEmpty(at, tree)).toEqual(before)
  })

  test('may contain pipes and sockets, which are left out', async () => {
    const at = openPlaceOf()
    execFileSync('sh', ['-c', 'mkfifo "$1"', 'sh', at.file('pipe')])
    at.write('replaced', 'file')
    const first = await at.repository.take(never)
    rmSync(at.file('replaced'))
    execFileSync('sh', ['-c', 'mkfifo "$1"', 'sh', at.file('replaced')])
    const second = await at.repository.take(never)
    expect((await at.repository.changes(first, second, 10, never)).files).toEqual([
      { status: 'deleted', path: 'replaced' },
    ])
  })
})

test('checkpoints of sandboxed workspaces are made in a sandbox, and their commands do not see them', async () => {
  await using confined = await openTestWorkspaces({ sandbox: { mode: 'required', network: false } })
  const at = openPlaceOf(confined)
  at.write('a', '1')
  const tree = await at.repository.take(never)
  at.write('a', '2')
  await at.repository.take(never)
  await at.repository.checkOut(tree, never)
  expect(at.files()).toEqual({ a: '1' })
  const { conversationId, workingDir, epoch, gitDir } = at.place
  await using workspace = await confined.workspaces.open({ conversationId, workingDir, epoch }, never)
  const { stdout } = await workspace.exec({ argv: ['sh', '-c', `cat a; ls ${gitDir}`] }, never)
  expect(existsSync(gitDir)).toBe(true)
  expect(stdout).toBe('1')
})
