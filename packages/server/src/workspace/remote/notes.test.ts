import { appendFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { tempDir } from '../../../testing/temp.ts'
import { Notes, type Note } from './notes.ts'

const note = (call: string): Note => ({
  call,
  job: `job-of-${call}`,
  from: 0,
  kind: 'start',
  token: 't',
  at: '2026-11-21T10:00:00.000Z',
})

test('notes and marks are read by the next process, also after an incomplete line', async () => {
  await using dir = await tempDir()
  const path = dir.file('deep', 'calls.ndjson')
  const first = new Notes(path)
  expect(await first.of('a')).toBeNull()
  await first.add(note('a'))
  await first.mark({ job: 'job-of-a', upTo: 5, told: false })
  await first.mark({ job: 'job-of-a', upTo: 9, told: true })
  await appendFile(path, '{"call":"b","jo')
  const second = new Notes(path)
  expect(await second.of('a')).toEqual(note('a'))
  expect(await second.markOf('job-of-a')).toEqual({ job: 'job-of-a', upTo: 9, told: true })
  expect(await second.of('b')).toBeNull()
  expect([await first.areComplete(), await second.areComplete()]).toEqual([true, false])
  await second.add(note('c'))
  expect(await new Notes(path).of('c')).toEqual(note('c'))
  await second.remove()
  expect(await second.of('a')).toBeNull()
})
