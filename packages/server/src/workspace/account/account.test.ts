import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { tempDir } from '../../../testing/temp.ts'
import { allows, canReach, canRead, expectAllowed, type Account } from './account.ts'
import { findAccount } from './find-account.ts'

const ACCOUNT: Account = { name: 'worker', uid: 4_000_001, gid: 4_000_002, home: '/nonexistent' }
const OTHER = 4_000_009

test.each<[string, { uid: number; gid: number }, number]>([
  ['its owner', { uid: ACCOUNT.uid, gid: ACCOUNT.gid }, 0o700],
  ['its group', { uid: OTHER, gid: ACCOUNT.gid }, 0o070],
  ['everybody', { uid: OTHER, gid: OTHER }, 0o007],
])('the account uses a file by the permissions of %s alone', (_, owner, mode) => {
  for (const access of ['read', 'write', 'enter'] as const) {
    expect(allows(ACCOUNT, { ...owner, mode }, access)).toBe(true)
    expect(allows(ACCOUNT, { ...owner, mode: 0o777 & ~mode }, access)).toBe(false)
  }
})

test('a file that the account may not use is an error of the system, which names the account', () => {
  const closed = { uid: OTHER, gid: OTHER, mode: 0o770 }
  expect(() => expectAllowed(ACCOUNT, closed, 'read', '/a')).toThrow(
    "EACCES: permission denied for worker, the account of commands, '/a'",
  )
  expect(() => expectAllowed(ACCOUNT, { ...closed, mode: 0o774 }, 'read', '/a')).not.toThrow()
  expect(() => expectAllowed(null, closed, 'read', '/a')).not.toThrow()
})

/** An account with the id of this process, which can enter the directories above those of a test. */
const OWN = { uid: process.getuid?.() ?? 0, gid: 4_000_002 }

test('a file is read by its permissions, and what does not exist is not', async () => {
  await using dir = await tempDir()
  const file = dir.file('file')
  writeFileSync(file, '')
  const readable = (mode: number) => {
    chmodSync(file, mode)
    return canRead(OWN, file)
  }
  expect([readable(0o400), readable(0o244)]).toEqual([true, false])
  expect([canReach(OWN, dir.file('later')), canRead(OWN, dir.file('later'))]).toEqual([true, false])
})

test.skipIf(OWN.uid !== 0)('nothing below a directory that the account cannot enter is reached or read', async () => {
  await using dir = await tempDir()
  const folder = dir.file('folder')
  mkdirSync(folder)
  writeFileSync(`${folder}/file`, '')
  const paths = [folder, `${folder}/later/below`, `${folder}/file`]
  expect(paths.map((path) => canReach(OWN, path))).toEqual([true, true, true])
  chmodSync(folder, 0o677)
  expect(paths.map((path) => canReach(OWN, path))).toEqual([false, false, false])
  expect(canRead(OWN, `${folder}/file`)).toBe(false)
})

test.each(['--help', '-x', '', 'a b', 'a:b', 'no-such-account-here', '4123456789'])(
  'the text %j names no account',
  async (text) => {
    expect(await findAccount(text)).toBeNull()
  },
)

test('an account is found by its name and by its user id', async () => {
  const [byName, byUid] = [await findAccount('root'), await findAccount('0')]
  expect([byName?.name, byName?.uid, byName?.gid]).toEqual(['root', 0, 0])
  expect(byUid).toEqual(byName)
})
