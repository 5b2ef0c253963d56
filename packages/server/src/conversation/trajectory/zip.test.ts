import { execFile } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { tempDir } from '../../../testing/temp.ts'
import { zip, type ZipEntry } from './zip.ts'

const run = promisify(execFile)

async function* of(count: number, entry: (index: number) => ZipEntry): AsyncGenerator<ZipEntry> {
  for (let index = 0; index < count; index++) yield entry(index)
}

async function packed(entries: AsyncIterable<ZipEntry>): Promise<Buffer> {
  const pieces: Buffer[] = []
  for await (const piece of zip(entries)) pieces.push(piece)
  return Buffer.concat(pieces)
}

test('unzip reads the archive', async () => {
  await using dir = await tempDir()
  const texts = ['', 'plain', 'ä😀\n'.repeat(10_000)]
  const entries = of(texts.length, (index) => ({ name: `folder/näme-${index}.txt`, bytes: Buffer.from(texts[index]!) }))
  await writeFile(dir.file('a.zip'), await packed(entries))
  await run('python3', ['-m', 'zipfile', '-e', dir.file('a.zip'), dir.file('out')])
  for (const [index, text] of texts.entries()) {
    expect(await readFile(dir.file('out', 'folder', `näme-${index}.txt`), 'utf8')).toBe(text)
  }
})

test('an archive with more than 65,535 small entries contains all of them, and is made in little memory', async () => {
  await using dir = await tempDir()
  const before = process.memoryUsage().arrayBuffers
  const entries = of(65_600, (index) => ({ name: String(index), bytes: Buffer.from([index % 256]) }))
  const archive = await packed(entries)
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(200 * 1024 * 1024)
  await writeFile(dir.file('a.zip'), archive)
  const look = 'import sys,zipfile; z=zipfile.ZipFile(sys.argv[1]); print(len(z.namelist()), z.read("65599")[0])'
  const { stdout } = await run('python3', ['-c', look, dir.file('a.zip')])
  expect(stdout.trim()).toBe(`65600 ${65_599 % 256}`)
}, 60_000)
