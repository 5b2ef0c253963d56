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
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { never, openTestWorkspaces, type TestWorkspaces } from '../workspace.testing.ts'
import { openPlace, restoredInEmpty } from './checkpoint-place.testing.ts'

let here: TestWorkspaces
beforeAll(async () => {
  here = await openTestWorkspaces()
})
afterAll(() => here[Symbol.asyncDispose]())

let count = 0

describe('a hostile workspace', () => {
  test('executes nothing and changes no content: attributes, filters, hooks and configuration have no effect', async () => {
    const at = openPlace(here)
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
    const at = openPlace(here)
    const other = openPlace(here)
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
    const at = openPlace(here)
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
    const at = openPlace(here)
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
    const at = openPlace(here)
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

  test('may have names that git reserves in any case, and links in their place: they are left out, and stay', async () => {
    const at = openPlace(here)
    at.write('.gitmodules', 'a file')
    const first = await at.repository.take(never)
    for (const path of ['.GIT/config', 'd/.Git', 'd/.gIT/deep/file']) at.write(path, 'x')
    rmSync(at.file('.gitmodules'))
    symlinkSync('/etc/passwd', at.file('.gitmodules'))
    const second = await at.repository.take(never)
    expect((await at.repository.changes(first, second, 10, never)).files).toEqual([
      { status: 'deleted', path: '.gitmodules' },
    ])
    expect(await at.repository.take(never)).toBe(second)
    const before = at.files()
    await at.repository.checkOut(second, never)
    expect(at.files()).toEqual(before)
  })

  test('may contain pipes and sockets, which are left out', async () => {
    const at = openPlace(here)
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
