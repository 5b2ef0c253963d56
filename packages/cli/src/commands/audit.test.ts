import { expect, test } from 'vitest'
import { writeFile } from 'node:fs/promises'
import { createHash } from 'node:crypto'
import { tempDir } from '../../../server/testing/temp.ts'
import { main } from '../main.ts'

function lineAfter(previous: string, at: string): { line: string; hash: string } {
  const body = { at, previous }
  const hash = createHash('sha256').update(JSON.stringify(body)).digest('hex')
  return { line: JSON.stringify({ ...body, hash }), hash }
}

test('the files of an audit are checked as one chain, and a broken one has the exit code 1', async () => {
  await using dir = await tempDir()
  const first = lineAfter('0'.repeat(64), '2026-01-01')
  const second = lineAfter(first.hash, '2026-01-02')
  await writeFile(dir.file('a'), `${first.line}\n`)
  await writeFile(dir.file('b'), `${second.line}\n`)
  let shown = ''
  const stream = { write: (text: string) => ((shown += text), true) }
  const io = { cwd: dir.path, home: dir.path, env: {}, stdout: stream, stderr: stream } as never
  expect(await main(['audit', 'a', 'b'], io)).toBe(0)
  expect(shown).toContain('b: 1 records, 2026-01-02 to 2026-01-02')
  expect(shown).toContain(`ends with ${second.hash}`)
  expect(await main(['audit', 'b', 'a'], io)).toBe(1)
  expect(shown).toContain('BROKEN')
})
