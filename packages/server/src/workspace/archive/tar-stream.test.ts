import { execFileSync } from 'node:child_process'
import { mkdirSync, truncateSync, writeFileSync } from 'node:fs'
import { buffer } from 'node:stream/consumers'
import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { tempDir } from '../../../testing/temp.ts'
import { withLastFile, type TarCounts, type TarFile } from './tar-stream.ts'

async function* inPieces(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

const listed = (bytes: Buffer) =>
  execFileSync('tar', ['-tf', '-'], { input: bytes, encoding: 'utf8' }).trim().split('\n')

test.each([1, 511, 512, 700, 10_240, 1_000_000])(
  'a file is added behind the members of an archive that arrives in pieces of %d bytes',
  async (size) => {
    await using dir = await tempDir()
    const long = 'n'.repeat(180)
    mkdirSync(dir.file('in'))
    writeFileSync(dir.file('in', 'zeroes'), Buffer.alloc(size === 1 ? 700 : 5000))
    writeFileSync(dir.file('in', long), 'x'.repeat(513))
    writeFileSync(dir.file('in', 'none'), '')
    const bytes = execFileSync('tar', ['-cf', '-', '-C', dir.path, 'in'])
    let seen: TarCounts | null = null
    const last = (counts: TarCounts): TarFile => {
      seen = { ...counts }
      return { name: `in/${'m'.repeat(120)}/last`, bytes: Buffer.from('end') }
    }
    const result = await buffer(Readable.from(withLastFile(inPieces(bytes, size), last)))
    expect(seen).toEqual({ files: 3, bytes: (size === 1 ? 700 : 5000) + 513 })
    expect(listed(result).toSorted()).toEqual(
      ['in/', `in/${long}`, `in/${'m'.repeat(120)}/last`, 'in/none', 'in/zeroes'].toSorted(),
    )
    const text = execFileSync('tar', ['-xOf', '-', `in/${'m'.repeat(120)}/last`], { input: result, encoding: 'utf8' })
    expect(text).toBe('end')
  },
)

test('a file of more than eight gibibytes does not end the archive', async () => {
  await using dir = await tempDir()
  writeFileSync(dir.file('sparse'), '')
  truncateSync(dir.file('sparse'), 9 * 1024 ** 3)
  // Only the header is made: the content would take long.
  const header = execFileSync('sh', ['-c', 'tar --format=gnu -cf - sparse | head -c 512'], { cwd: dir.path })
  const bytes = withLastFile(Readable.from([header]), () => null)
  await expect(buffer(Readable.from(bytes))).rejects.toThrow('before its end mark')
})

test('an archive that is cut off is an error', async () => {
  await using dir = await tempDir()
  writeFileSync(dir.file('a'), 'x'.repeat(2000))
  const bytes = execFileSync('tar', ['-cf', '-', '-C', dir.path, 'a'])
  for (const end of [0, 100, 512, 1024, 2560]) {
    const cut = withLastFile(inPieces(bytes.subarray(0, end), 400), () => null)
    await expect(buffer(Readable.from(cut))).rejects.toThrow('before its end mark')
  }
})
