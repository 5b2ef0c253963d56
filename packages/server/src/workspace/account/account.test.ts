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

test('a file is read only where every directory above it can be entered', async () => {
  await using dir = await tempDir()
  chmodSync(dir.path, 0o711)
  const folder = dir.file('folder')
  mkdirSync(folder)
  writeFileSync(`${folder}/file`, '')
  const readable = (folderMode: number, fileMode: number) => {
    chmodSync(folder, folderMode)
    chmodSync(`${folder}/file`, fileMode)
    return [canReach(ACCOUNT, folder), canRead(ACCOUNT, `${folder}/file`)]
  }
  expect(readable(0o711, 0o644)).toEqual([true, true])
  expect(readable(0o711, 0o640)).toEqual([true, false])
  expect(readable(0o744, 0o644)).toEqual([false, false])
  expect(canReach(ACCOUNT, `${folder}/later/below`)).toBe(false)
  chmodSync(folder, 0o711)
  expect([canReach(ACCOUNT, `${folder}/later/below`), canRead(ACCOUNT, `${folder}/later`)]).toEqual([true, false])
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
