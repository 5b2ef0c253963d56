/**
 * The schema, as numbered steps without downgrades. `user_version` is the number of the newest applied step.
 *
 * Decisions
 *   D1. Events are stored in the order of their commits, with an index over (conversation, seq): a group of appends to many
 *       conversations fills few pages. Compared with rows clustered by conversation: equal for one writer, four times as
 *       many appends per second for 256, a page of 100 costs 0.02 ms more.
 *   D2. The unique index over ids begins with the id. Ids are time-ordered, so the index grows at one end for writes to any
 *       conversation. Copied events of a fork keep their ids, so the index also contains the conversation.
 *   D3. Columns that change with every append (`conversations`) are separate from long ones (`records`, `states`), so that a
 *       group of appends touches few pages.
 *   D4. The number of a deleted conversation is never reused (AUTOINCREMENT); its events are swept later.
 *   D5. Only the first delivery of a lane has a `next_attempt_at`, so that due deliveries are one range of a small index,
 *       regardless of the length of the lanes.
 *   D6. Logs of received conversations are stored like our own under negative numbers: -n of `received_conversations`.
 */
import { ParleyError } from '@parley/protocol'
import type { Sql } from './sql.ts'

/** Identifies files of Parley: "PRLY". */
const APPLICATION_ID = 0x50524c59

const CHECKPOINTS = `
  CREATE TABLE checkpoints (
    conversation INTEGER NOT NULL REFERENCES conversations (n) ON DELETE CASCADE,
    seq INTEGER NOT NULL,
    tree TEXT NOT NULL,
    PRIMARY KEY (conversation, seq)
  ) WITHOUT ROWID;
`

const USERS = `
  CREATE TABLE users (
    user TEXT NOT NULL PRIMARY KEY,
    state TEXT NOT NULL,
    created_at TEXT NOT NULL
  ) WITHOUT ROWID;
  INSERT INTO users SELECT user, 'active', strftime('%Y-%m-%dT%H:%M:%fZ') FROM (
    SELECT user FROM keys UNION SELECT user FROM settings UNION SELECT user FROM secrets UNION SELECT user FROM documents
    UNION SELECT user FROM bash_events UNION SELECT owner FROM conversations UNION SELECT owner FROM received_conversations
  );
`

/** Triggers, so that no statement that changes a secret or settings can forget the version. AUTOINCREMENT: no version is used twice. */
const SECRET_VERSIONS = `
  CREATE TABLE secret_versions (
    n INTEGER PRIMARY KEY AUTOINCREMENT,
    of_user TEXT NOT NULL UNIQUE
  );
  INSERT INTO secret_versions (of_user) SELECT user FROM secrets UNION SELECT user FROM settings;
  ${['secrets', 'settings']
    .flatMap((table) =>
      (['INSERT', 'UPDATE', 'DELETE'] as const).map((change) => {
        const user = change === 'DELETE' ? 'OLD.user' : 'NEW.user'
        return `CREATE TRIGGER ${table}_${change.toLowerCase()} AFTER ${change} ON ${table} BEGIN
          DELETE FROM secret_versions WHERE of_user = ${user};
          INSERT INTO secret_versions (of_user) VALUES (${user});
        END;`
      }),
    )
    .join('\n  ')}
`

const MIGRATIONS: readonly string[] = [
  `
  CREATE TABLE conversations (
    n INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    owner TEXT NOT NULL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    seq INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    status TEXT NOT NULL,
    parent_conversation_id TEXT
  );
  CREATE INDEX conversations_created ON conversations (owner, created_at);
  CREATE INDEX conversations_updated ON conversations (owner, updated_at);
  CREATE INDEX conversations_status_created ON conversations (owner, status, created_at);
  CREATE INDEX conversations_status_updated ON conversations (owner, status, updated_at);
  CREATE INDEX conversations_running ON conversations (id) WHERE status = 'running';
  CREATE INDEX conversations_parent ON conversations (parent_conversation_id, id) WHERE parent_conversation_id IS NOT NULL;

  CREATE TABLE records (
    conversation INTEGER PRIMARY KEY REFERENCES conversations (n) ON DELETE CASCADE,
    record TEXT NOT NULL
  );
  CREATE TABLE states (
    conversation INTEGER PRIMARY KEY REFERENCES conversations (n) ON DELETE CASCADE,
    seq INTEGER NOT NULL,
    json TEXT NOT NULL
  );

  CREATE TABLE events (
    n INTEGER PRIMARY KEY,
    conversation INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    id BLOB NOT NULL,
    kind TEXT NOT NULL,
    source TEXT,
    timestamp TEXT NOT NULL,
    event TEXT NOT NULL
  );
  CREATE UNIQUE INDEX events_seq ON events (conversation, seq);
  CREATE UNIQUE INDEX events_id ON events (id, conversation);
  CREATE INDEX events_usage ON events (conversation, seq) WHERE kind = 'UsageRecordedEvent';
  CREATE TABLE deleted_logs (
    conversation INTEGER PRIMARY KEY,
    seq INTEGER NOT NULL
  );

  CREATE TABLE outbox (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    conversation_id TEXT NOT NULL,
    topic TEXT NOT NULL,
    payload TEXT NOT NULL,
    created_at TEXT NOT NULL
  );

  CREATE TABLE settings (
    user TEXT NOT NULL UNIQUE,
    json TEXT NOT NULL
  );
  CREATE TABLE secrets (
    user TEXT NOT NULL,
    name TEXT NOT NULL,
    description TEXT,
    sealed TEXT NOT NULL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    UNIQUE (user, name)
  );
  CREATE TABLE keys (
    id TEXT NOT NULL UNIQUE,
    user TEXT NOT NULL,
    role TEXT NOT NULL,
    hash TEXT NOT NULL UNIQUE,
    label TEXT,
    created_at TEXT NOT NULL,
    expires_at TEXT,
    revoked_at TEXT
  );
  `,
  `
  ALTER TABLE conversations ADD COLUMN notified INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE outbox ADD COLUMN sequence INTEGER NOT NULL DEFAULT 0;
  CREATE INDEX outbox_conversation ON outbox (conversation_id, sequence);

  CREATE TABLE deliveries (
    n INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    target TEXT NOT NULL,
    conversation_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    topic TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    status TEXT NOT NULL,
    created_at TEXT NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    first_attempt_at TEXT,
    next_attempt_at TEXT,
    last_status INTEGER,
    last_error TEXT,
    finished_at TEXT,
    outbox INTEGER,
    log INTEGER,
    last_seq INTEGER
  );
  CREATE INDEX deliveries_due ON deliveries (target, next_attempt_at) WHERE next_attempt_at IS NOT NULL;
  CREATE INDEX deliveries_lane ON deliveries (target, conversation_id, kind) WHERE status = 'pending';
  CREATE INDEX deliveries_status ON deliveries (status, n);
  CREATE INDEX deliveries_outbox ON deliveries (outbox) WHERE outbox IS NOT NULL;
  CREATE INDEX deliveries_log ON deliveries (log) WHERE log IS NOT NULL AND status <> 'delivered';
  CREATE TABLE followed_logs (
    log INTEGER NOT NULL,
    target TEXT NOT NULL,
    conversation_id TEXT NOT NULL,
    seq INTEGER NOT NULL,
    last_seq INTEGER,
    UNIQUE (log, target)
  );
  CREATE INDEX followed_logs_conversation ON followed_logs (target, conversation_id, log);
  ALTER TABLE deleted_logs ADD COLUMN held INTEGER NOT NULL DEFAULT 0;
  CREATE INDEX deleted_logs_free ON deleted_logs (conversation) WHERE held = 0;

  CREATE TABLE received_conversations (
    n INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL,
    owner TEXT NOT NULL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    sent_at TEXT,
    seq INTEGER NOT NULL DEFAULT 0,
    status TEXT NOT NULL,
    parent_conversation_id TEXT,
    info TEXT,
    removed_at TEXT,
    UNIQUE (owner, id)
  );
  CREATE INDEX received_created ON received_conversations (owner, created_at) WHERE info IS NOT NULL;
  CREATE INDEX received_updated ON received_conversations (owner, updated_at) WHERE info IS NOT NULL;
  CREATE INDEX received_status_created ON received_conversations (owner, status, created_at) WHERE info IS NOT NULL;
  CREATE INDEX received_status_updated ON received_conversations (owner, status, updated_at) WHERE info IS NOT NULL;
  CREATE INDEX received_removed ON received_conversations (removed_at) WHERE removed_at IS NOT NULL;
  `,
  `
  CREATE TABLE documents (
    user TEXT NOT NULL,
    collection TEXT NOT NULL,
    name TEXT NOT NULL,
    json TEXT NOT NULL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    UNIQUE (user, collection, name)
  );
  CREATE TABLE bash_events (
    n INTEGER PRIMARY KEY AUTOINCREMENT,
    user TEXT NOT NULL,
    id TEXT NOT NULL,
    kind TEXT NOT NULL,
    command_id TEXT,
    place INTEGER,
    timestamp TEXT NOT NULL,
    is_open INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    json TEXT NOT NULL,
    UNIQUE (user, id)
  );
  CREATE INDEX bash_events_user ON bash_events (user, n, bytes);
  CREATE INDEX bash_events_command ON bash_events (user, command_id, n);
  CREATE INDEX bash_events_open ON bash_events (n) WHERE is_open = 1;
  `,
  `
  CREATE TABLE audit (
    n INTEGER PRIMARY KEY AUTOINCREMENT,
    at TEXT NOT NULL,
    user TEXT NOT NULL,
    key_id TEXT NOT NULL,
    action TEXT NOT NULL,
    conversation_id TEXT,
    status INTEGER NOT NULL
  );
  CREATE INDEX audit_user ON audit (user, n);
  `,
  `
  ALTER TABLE deliveries ADD COLUMN queued_at TEXT NOT NULL DEFAULT '';
  ALTER TABLE deliveries ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;
  UPDATE deliveries SET queued_at = created_at,
    bytes = coalesce((SELECT octet_length(payload) FROM outbox WHERE outbox.id = deliveries.outbox), 0);
  CREATE INDEX deliveries_waiting ON deliveries (target, queued_at, n, bytes) WHERE status = 'pending';
  `,
  `
  CREATE TABLE seal_test (
    n INTEGER PRIMARY KEY CHECK (n = 1),
    sealed TEXT NOT NULL
  );
  `,
  `
  CREATE TABLE owed_releases (
    id TEXT NOT NULL UNIQUE,
    record TEXT NOT NULL
  );
  `,
  `
  CREATE TABLE crashes (
    conversation INTEGER PRIMARY KEY REFERENCES conversations (n) ON DELETE CASCADE,
    count INTEGER NOT NULL
  );
  `,
  // The columns of stored events are filled later, in slices (see `event-backfill.ts`).
  `
  ALTER TABLE events ADD COLUMN parent_seq INTEGER;
  ALTER TABLE events ADD COLUMN tool TEXT;
  ALTER TABLE events ADD COLUMN size INTEGER;
  ALTER TABLE events ADD COLUMN flags INTEGER;
  ALTER TABLE events ADD COLUMN text TEXT;
  CREATE TABLE event_backfill (
    next INTEGER NOT NULL,
    last INTEGER NOT NULL
  );
  INSERT INTO event_backfill SELECT next, last FROM (SELECT min(n) AS next, max(n) AS last FROM events) WHERE last IS NOT NULL;
  `,
  `
  CREATE TABLE data_directory (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    ledger TEXT,
    mark INTEGER NOT NULL,
    next_mark INTEGER
  );
  ALTER TABLE conversations ADD COLUMN unproven_seq INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE bash_events ADD COLUMN is_unproven INTEGER NOT NULL DEFAULT 0;
  `,
  `
  CREATE TABLE keyed_requests (
    n INTEGER PRIMARY KEY AUTOINCREMENT,
    user TEXT NOT NULL,
    key TEXT NOT NULL,
    digest TEXT NOT NULL,
    begun_at TEXT NOT NULL,
    state TEXT NOT NULL,
    sealed TEXT,
    bytes INTEGER NOT NULL DEFAULT 0,
    UNIQUE (user, key)
  );
  CREATE INDEX keyed_requests_user ON keyed_requests (user, n, bytes);
  CREATE TABLE deleted_ids (
    id TEXT NOT NULL PRIMARY KEY,
    owner TEXT NOT NULL
  ) WITHOUT ROWID;
  `,
  // AUTOINCREMENT: the number of a deleted note is never used again.
  `
  CREATE TABLE notes (
    n INTEGER PRIMARY KEY AUTOINCREMENT,
    conversation INTEGER NOT NULL REFERENCES conversations (n) ON DELETE CASCADE,
    about TEXT NOT NULL,
    kind TEXT NOT NULL,
    text TEXT NOT NULL,
    UNIQUE (conversation, about, kind)
  );
  `,
  `
  CREATE TABLE made_workspaces (
    root TEXT NOT NULL PRIMARY KEY,
    owner TEXT NOT NULL,
    kind TEXT NOT NULL,
    inode TEXT NOT NULL,
    repository TEXT
  ) WITHOUT ROWID;
  CREATE INDEX records_working_dir ON records (
    CASE WHEN json_valid(record) THEN json_extract(record, '$.workspace.working_dir') END
  );
  CREATE INDEX records_worktree_source ON records (
    CASE WHEN json_valid(record) THEN json_extract(record, '$.worktree.source') END
  );
  ALTER TABLE owed_releases ADD COLUMN owner TEXT NOT NULL DEFAULT '';
  ALTER TABLE owed_releases ADD COLUMN workspace TEXT NOT NULL DEFAULT 'keep';
  `,
  `
  CREATE TABLE restored_runs (
    conversation INTEGER PRIMARY KEY REFERENCES conversations (n) ON DELETE CASCADE,
    backup_at TEXT NOT NULL
  );
  `,
  CHECKPOINTS,
  'ALTER TABLE seal_test ADD COLUMN salt TEXT;',
  `
  ALTER TABLE audit ADD COLUMN until TEXT;
  ALTER TABLE audit ADD COLUMN count INTEGER NOT NULL DEFAULT 1;
  ALTER TABLE audit ADD COLUMN subject TEXT;
  ALTER TABLE audit ADD COLUMN detail TEXT;
  `,
  // The length of a text is in the head of its row, so no long text is read.
  `
  ALTER TABLE conversations ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE received_conversations ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;
  UPDATE conversations SET
    bytes = coalesce((SELECT sum(octet_length(e.event)) FROM events e WHERE e.conversation = conversations.n), 0);
  UPDATE received_conversations SET
    bytes = coalesce((SELECT sum(octet_length(e.event)) FROM events e WHERE e.conversation = -received_conversations.n), 0);
  CREATE TABLE usage (
    user TEXT NOT NULL,
    period TEXT NOT NULL,
    counter TEXT NOT NULL,
    amount REAL NOT NULL,
    PRIMARY KEY (user, period, counter)
  ) WITHOUT ROWID;
  INSERT INTO usage (user, period, counter, amount)
    SELECT owner, '', 'stored_bytes', sum(bytes)
    FROM (SELECT owner, bytes FROM conversations UNION ALL SELECT owner, bytes FROM received_conversations)
    GROUP BY owner;
  `,
  USERS,
  'ALTER TABLE conversations ADD COLUMN file_bytes INTEGER NOT NULL DEFAULT 0;',
  // AUTOINCREMENT: no number is used twice, although only the newest row is kept.
  `
  CREATE TABLE nodes (n INTEGER PRIMARY KEY AUTOINCREMENT);
  ALTER TABLE conversations ADD COLUMN node INTEGER;
  `,
  SECRET_VERSIONS,
  `
  CREATE TABLE conversation_files (
    conversation INTEGER NOT NULL REFERENCES conversations (n) ON DELETE CASCADE,
    name TEXT NOT NULL,
    part INTEGER NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (conversation, name, part)
  );
  CREATE TABLE callbacks (
    id TEXT NOT NULL PRIMARY KEY,
    conversation_id TEXT NOT NULL,
    json TEXT NOT NULL,
    is_parked INTEGER NOT NULL DEFAULT 0
  ) WITHOUT ROWID;
  `,
  `
  CREATE TABLE webhook_targets (
    name TEXT NOT NULL PRIMARY KEY,
    wants_events INTEGER NOT NULL,
    options TEXT NOT NULL,
    sealed TEXT NOT NULL,
    origin TEXT NOT NULL,
    version INTEGER NOT NULL,
    updated_at TEXT NOT NULL,
    removed_at TEXT
  ) WITHOUT ROWID;
  `,
  // A conversation that should run is found by the new index, whatever its status is.
  `
  ALTER TABLE conversations ADD COLUMN root TEXT;
  ALTER TABLE conversations ADD COLUMN place TEXT;
  ALTER TABLE conversations ADD COLUMN wants_owner INTEGER NOT NULL DEFAULT 0;
  UPDATE conversations SET wants_owner = 1 WHERE status = 'running';
  CREATE INDEX conversations_wanting ON conversations (id) WHERE wants_owner = 1;
  CREATE INDEX conversations_root ON conversations (root) WHERE root IS NOT NULL;
  DROP INDEX conversations_running;
  `,
  // A callback of a run whose end is not known was recognised by its JSON.
  `
  ALTER TABLE callbacks ADD COLUMN node INTEGER;
  ALTER TABLE callbacks ADD COLUMN is_open INTEGER NOT NULL DEFAULT 0;
  UPDATE callbacks SET is_open = 1 WHERE instr(json, '"callback":null') > 0;
  CREATE INDEX callbacks_open ON callbacks (conversation_id) WHERE is_open = 1;
  `,
  // The index holds all that an outline shows, so that no event is read for it. Rows of older versions are filled again.
  `
  ALTER TABLE events ADD COLUMN refers_seq INTEGER;
  CREATE INDEX events_outline ON events (conversation, seq, kind, source, tool, parent_seq, refers_seq, flags, size, timestamp);
  DELETE FROM event_backfill;
  INSERT INTO event_backfill SELECT next, last FROM (SELECT min(n) AS next, max(n) AS last FROM events) WHERE last IS NOT NULL;
  `,
  `
  CREATE TABLE login_sessions (
    id TEXT NOT NULL PRIMARY KEY,
    user TEXT NOT NULL,
    hash TEXT NOT NULL UNIQUE,
    key_hash TEXT NOT NULL,
    label TEXT,
    created_at TEXT NOT NULL,
    last_used_at TEXT NOT NULL,
    expires_at TEXT NOT NULL
  ) WITHOUT ROWID;
  CREATE INDEX login_sessions_user ON login_sessions (user, key_hash);
  CREATE TABLE login_codes (
    hash TEXT NOT NULL PRIMARY KEY,
    user TEXT NOT NULL,
    key_hash TEXT NOT NULL,
    created_at TEXT NOT NULL,
    expires_at TEXT NOT NULL
  ) WITHOUT ROWID;
  CREATE INDEX login_codes_user ON login_codes (user, key_hash);
  `,
  `
  CREATE TABLE feeds (user TEXT NOT NULL PRIMARY KEY, n INTEGER NOT NULL) WITHOUT ROWID;
  CREATE TABLE feed_changes (
    user TEXT NOT NULL,
    n INTEGER NOT NULL,
    conversation_id TEXT NOT NULL,
    PRIMARY KEY (user, n)
  ) WITHOUT ROWID;
  `,
  `ALTER TABLE webhook_targets ADD COLUMN wants_waiting INTEGER NOT NULL DEFAULT 0`,
]

/** True for the `application_id` of a store. */
export const isOfParley = (applicationId: number): boolean => applicationId === APPLICATION_ID

/** Number of the newest step in this version. */
export const SCHEMA_VERSION = MIGRATIONS.length

/**
 * Migrates the file to the newest schema, all steps in one transaction.
 * @throws ParleyError `unavailable` when the file was written by a newer Parley or by another program.
 */
export function migrate(sql: Sql, path: string): void {
  const refuse = (why: string) => new ParleyError('unavailable', `store ${path} ${why}`, { details: { store: path } })
  const pragma = (name: string) => Number(Object.values(sql.get<Record<string, number>>(`PRAGMA ${name}`) ?? {})[0])

  if (pragma('user_version') === SCHEMA_VERSION && pragma('application_id') === APPLICATION_ID) return
  sql.exec('BEGIN IMMEDIATE')
  try {
    // Read again under the lock, because another process may have migrated the file meanwhile.
    const version = pragma('user_version')
    const isEmpty = sql.get('SELECT 1 FROM sqlite_schema LIMIT 1') === undefined
    if (!isEmpty && pragma('application_id') !== APPLICATION_ID) {
      throw refuse('belongs to another program: choose another data directory')
    }
    if (version > SCHEMA_VERSION) {
      throw refuse(
        `has schema ${version}, this Parley knows up to ${SCHEMA_VERSION}: start the newer Parley that wrote it, or choose another data directory`,
      )
    }
    for (const step of MIGRATIONS.slice(version)) sql.database.exec(step)
    sql.database.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${SCHEMA_VERSION}`)
    sql.exec('COMMIT')
  } catch (error) {
    if (sql.database.isTransaction) sql.exec('ROLLBACK')
    throw error
  }
}
