/** Modes, users and their deletion. */
import type { MutatedFile } from '../mutant.ts'

const at = (name: string) => `packages/server/src/${name}`
const users = 'test/modes/users.test.ts'
const suspended = 'test/modes/suspended.test.ts'
const deleted = 'test/modes/deleted.test.ts'

export const modes: readonly MutatedFile[] = [
  {
    file: at('config/mode-conditions.ts'),
    tests: [at('config/mode-conditions.test.ts')],
    mutants: [
      { before: 'if (uid !== 0) return met(name', after: 'if (true) return met(name' },
      { before: "if (mode === 'required') return", after: "if (mode !== 'off') return" },
      { before: 'if (withoutSandbox === null)', after: 'if (true)' },
      { before: 'if (config.withoutKeys)', after: 'if (false)' },
      { before: 'if (!hasShortKey(config))', after: 'if (true)' },
      { before: '(dataDirMode & others) === 0', after: 'true' },
      { before: "mode === 'shared'", after: "mode !== 'shared'" },
    ],
  },
  {
    file: at('storage/sqlite/users.ts'),
    tests: [at('storage/sqlite/users.test.ts')],
    mutants: [
      { before: "if (known?.state === 'deleting')", after: 'if (false)' },
      { before: "before !== null && before !== 'deleting'", after: 'before !== null' },
      { before: "  'DELETE FROM usage WHERE user = ?1',\n", after: '' },
      {
        before: "if (isOnly && sql.get('SELECT 1 FROM users LIMIT 1') !== undefined)",
        after: 'if (false)',
        tests: [users],
      },
    ],
  },
  {
    file: at('storage/sqlite/keys.ts'),
    tests: [at('storage/sqlite/users.test.ts')],
    mutants: [{ before: " AND state = 'active')", after: ')' }],
  },
  {
    file: at('settings/new-user.ts'),
    tests: [users],
    mutants: [
      { before: 'confirmation_mode: true', after: 'confirmation_mode: false' },
      { before: 'isOnly: true', after: 'isOnly: false' },
    ],
  },
  {
    file: at('settings/user-lifecycle.ts'),
    tests: [suspended],
    mutants: [
      { before: "if (user === DEFAULT_USER && to !== 'active')", after: 'if (false)' },
      { before: 'if (suspended.replace(rows)) this.#deps.resumed()', after: '' },
      { before: 'if (suspended.replace(rows)) this.#deps.resumed()', after: 'suspended.replace(rows)' },
      { before: '      await endWork(user)\n', after: '' },
      {
        before: 'this.#timer = setInterval',
        after: 'this.#timer = setTimeout',
      },
      {
        before: "if (state === 'deleting') await erase",
        after: "if (state === 'disabled') await erase",
        tests: [deleted],
      },
    ],
  },
  {
    file: at('conversation/engine/user-work.ts'),
    tests: [suspended],
    mutants: [
      { before: "if (status === 'running' || live?.isIdle === false)", after: 'if (false)' },
      {
        before: "await commands.delete(id, actorOf(user), 'delete')",
        after: "await commands.delete(id, actorOf(user), 'keep')",
        tests: [deleted],
      },
    ],
  },
  {
    file: at('conversation/live/live-conversation.ts'),
    tests: [suspended],
    mutants: [{ before: 'if (this.#deps.isSuspended(this.owner)) return\n', after: '\n' }],
  },
  {
    file: at('workspace/bash/bash.ts'),
    tests: [suspended],
    mutants: [{ before: '    await this.#deps.hosts.release(user)\n', after: '' }],
  },
  {
    file: at('workspace/account/account.ts'),
    tests: [at('workspace/account/account.test.ts')],
    mutants: [
      { before: 'found.uid === uid ? 6 : ', after: '' },
      { before: 'found.gid === gid ? 3 : 0', after: '0' },
      { before: 'account === null || allows(account, found, access)', after: 'true' },
      { before: "found?.isDirectory() === true && !allows(account, found, 'enter')", after: 'false' },
      { before: ' && canReach(account, real)\n}', after: '\n}' },
      { before: "found !== undefined && allows(account, found, 'read') &&", after: 'found !== undefined &&' },
    ],
  },
  {
    file: at('workspace/account/find-account.ts'),
    tests: [at('workspace/account/account.test.ts')],
    mutants: [
      {
        before: '(await askedSystem(nameOrUid)) ?? (await inFile(nameOrUid))',
        after: 'await inFile(nameOrUid)',
        survives: { reason: 'equivalent', why: 'accounts of the file of the system are found both ways' },
      },
    ],
  },
  {
    // These tests need the rights of root.
    file: at('workspace/account/usable-account.ts'),
    tests: ['test/attacks/runner-user.test.ts'],
    mutants: [
      { before: 'if (account.uid === 0 || account.uid === own)', after: 'if (false)' },
      { before: 'if (!canReach(account, above))', after: 'if (false)' },
      { before: 'if (settings !== null && canRead(account, settings))', after: 'if (false)' },
      { before: 'if (prepared !== null && !canRead(account, prepared))', after: 'if (false)' },
    ],
  },
  {
    file: at('storage/sqlite/user-deliveries.ts'),
    tests: ['test/webhooks/suspended-users.test.ts'],
    mutants: [
      { before: "user = ${OWNER} AND state <> 'active'", after: "user = ${OWNER} AND state = 'active'" },
      { before: "WHERE user = ${OWNER} AND state <> 'active'", after: 'WHERE false' },
      { before: "sql.run('DELETE FROM deliveries WHERE n = ?', n)", after: '' },
      { before: 'if (isOwned !== 1) continue', after: '' },
      { before: 'await commits.write(() => sql.run(UNFOLLOW_SQL, user))', after: '' },
    ],
  },
]
