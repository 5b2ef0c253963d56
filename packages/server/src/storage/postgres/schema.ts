/**
 * The schema, as numbered steps that only add, so that an earlier version can run beside a later one.
 *
 * Decisions
 *   D1. All tables are in the schema `parley`, so a database may hold tables of other programs too.
 *   D2. Text is compared by its bytes (collation C), as in the SQLite store: orders and ranges are the same with every locale.
 *   D3. No column is called `user`: without quotes, that word is the role of the connection.
 *   D4. JSON is text: `jsonb` refuses U+0000 and does not return the same bytes.
 *   D5. A unique index holds short values only, because an entry is at most 2,704 bytes: digests of ids and paths that may be longer.
 *   D6. Logs of received conversations are stored like our own under negative numbers: -n of `received_conversations`. Numbers are
 *       never used again.
 *   D7. Columns that change with every append (`conversations`) are separate from long ones (`records`, `states`).
 *   D8. Only the first delivery of a lane has a `next_attempt_at`.
 */
const TEXT = 'text COLLATE "C"'
const NUMBERED = 'bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY'
const OF_CONVERSATION = 'bigint NOT NULL REFERENCES conversations (n) ON DELETE CASCADE'

const CONVERSATIONS = `
  CREATE TABLE conversations (
    n ${NUMBERED},
    id ${TEXT} NOT NULL UNIQUE,
    owner ${TEXT} NOT NULL,
    created_at ${TEXT} NOT NULL,
    updated_at ${TEXT} NOT NULL,
    seq bigint NOT NULL,
    bytes bigint NOT NULL DEFAULT 0,
    file_bytes bigint NOT NULL DEFAULT 0,
    epoch bigint NOT NULL,
    node bigint,
    status ${TEXT} NOT NULL,
    parent_conversation_id ${TEXT},
    notified bigint NOT NULL DEFAULT 0,
    unproven_seq bigint NOT NULL DEFAULT 0,
    append_id uuid
  ) WITH (fillfactor = 70);
  CREATE INDEX conversations_created ON conversations (owner, created_at, n);
  CREATE INDEX conversations_updated ON conversations (owner, updated_at, n);
  CREATE INDEX conversations_status_created ON conversations (owner, status, created_at, n);
  CREATE INDEX conversations_status_updated ON conversations (owner, status, updated_at, n);
  CREATE INDEX conversations_running ON conversations (id) WHERE status = 'running';
  CREATE INDEX conversations_node ON conversations (node) WHERE node IS NOT NULL;
  CREATE INDEX conversations_parent ON conversations (parent_conversation_id, id) WHERE parent_conversation_id IS NOT NULL;

  CREATE TABLE records (
    conversation ${OF_CONVERSATION} PRIMARY KEY,
    record ${TEXT} NOT NULL,
    working_dir ${TEXT},
    worktree_source ${TEXT}
  );
  CREATE INDEX records_working_dir ON records (left(working_dir, 600)) WHERE working_dir IS NOT NULL;
  CREATE INDEX records_worktree_source ON records (left(worktree_source, 600)) WHERE worktree_source IS NOT NULL;
  CREATE TABLE states (
    conversation ${OF_CONVERSATION} PRIMARY KEY,
    seq bigint NOT NULL,
    json ${TEXT} NOT NULL
  );
  CREATE TABLE crashes (
    conversation ${OF_CONVERSATION} PRIMARY KEY,
    count integer NOT NULL
  );
  CREATE TABLE restored_runs (
    conversation ${OF_CONVERSATION} PRIMARY KEY,
    backup_at ${TEXT} NOT NULL
  );
  CREATE TABLE checkpoints (
    conversation ${OF_CONVERSATION},
    seq bigint NOT NULL,
    tree ${TEXT} NOT NULL,
    PRIMARY KEY (conversation, seq)
  );
  CREATE TABLE notes (
    conversation ${OF_CONVERSATION},
    about ${TEXT} NOT NULL,
    kind ${TEXT} NOT NULL,
    text ${TEXT} NOT NULL,
    PRIMARY KEY (conversation, about, kind)
  );
  CREATE TABLE conversation_files (
    conversation ${OF_CONVERSATION},
    name ${TEXT} NOT NULL,
    part integer NOT NULL,
    size bigint NOT NULL,
    text ${TEXT} NOT NULL,
    PRIMARY KEY (conversation, name, part)
  );
  CREATE TABLE callbacks (
    id ${TEXT} PRIMARY KEY,
    conversation_id ${TEXT} NOT NULL,
    json ${TEXT} NOT NULL,
    is_parked boolean NOT NULL DEFAULT false
  );
  CREATE TABLE note_counter (
    one integer PRIMARY KEY CHECK (one = 1),
    newest bigint NOT NULL
  );
  INSERT INTO note_counter VALUES (1, 0);
  CREATE TABLE owed_releases (
    id ${TEXT} PRIMARY KEY,
    owner ${TEXT} NOT NULL,
    record ${TEXT} NOT NULL,
    workspace ${TEXT} NOT NULL
  );
  CREATE TABLE deleted_ids (
    id ${TEXT} PRIMARY KEY,
    owner ${TEXT} NOT NULL
  );
  CREATE INDEX deleted_ids_owner ON deleted_ids (owner);
  CREATE TABLE made_workspaces (
    root_digest bytea PRIMARY KEY,
    root ${TEXT} NOT NULL,
    owner ${TEXT} NOT NULL,
    kind ${TEXT} NOT NULL,
    inode ${TEXT} NOT NULL,
    repository ${TEXT}
  );
`

/** The size is in bytes of JSON; `text` is what a search reads, in lower case. */
const EVENTS = `
  CREATE TABLE events (
    conversation bigint NOT NULL,
    seq bigint NOT NULL,
    id bytea NOT NULL,
    kind ${TEXT} NOT NULL,
    source ${TEXT},
    timestamp ${TEXT} NOT NULL,
    size bigint NOT NULL,
    event ${TEXT} NOT NULL,
    text ${TEXT},
    PRIMARY KEY (conversation, seq)
  );
  CREATE UNIQUE INDEX events_id ON events (id, conversation);
  CREATE INDEX events_usage ON events (conversation, seq) WHERE kind = 'UsageRecordedEvent';
  CREATE TABLE deleted_logs (
    conversation bigint PRIMARY KEY,
    seq bigint NOT NULL,
    is_held boolean NOT NULL DEFAULT false
  );
  CREATE INDEX deleted_logs_free ON deleted_logs (conversation) WHERE NOT is_held;

  CREATE TABLE received_conversations (
    n ${NUMBERED},
    id ${TEXT} NOT NULL,
    owner ${TEXT} NOT NULL,
    created_at ${TEXT} NOT NULL,
    updated_at ${TEXT} NOT NULL,
    sent_at ${TEXT},
    seq bigint NOT NULL DEFAULT 0,
    bytes bigint NOT NULL DEFAULT 0,
    status ${TEXT} NOT NULL,
    parent_conversation_id ${TEXT},
    info ${TEXT},
    removed_at ${TEXT},
    UNIQUE (owner, id)
  );
  CREATE INDEX received_created ON received_conversations (owner, created_at, n) WHERE info IS NOT NULL;
  CREATE INDEX received_updated ON received_conversations (owner, updated_at, n) WHERE info IS NOT NULL;
  CREATE INDEX received_status_created ON received_conversations (owner, status, created_at, n) WHERE info IS NOT NULL;
  CREATE INDEX received_status_updated ON received_conversations (owner, status, updated_at, n) WHERE info IS NOT NULL;
  CREATE INDEX received_removed ON received_conversations (removed_at) WHERE removed_at IS NOT NULL;
`

const DELIVERIES = `
  CREATE TABLE outbox (
    id ${NUMBERED},
    conversation_id ${TEXT} NOT NULL,
    topic ${TEXT} NOT NULL,
    payload ${TEXT} NOT NULL,
    created_at ${TEXT} NOT NULL,
    sequence bigint NOT NULL
  );
  CREATE INDEX outbox_conversation ON outbox (conversation_id, sequence);
  CREATE TABLE deliveries (
    n ${NUMBERED},
    id ${TEXT} NOT NULL UNIQUE,
    target ${TEXT} NOT NULL,
    conversation_id ${TEXT} NOT NULL,
    kind ${TEXT} NOT NULL,
    topic ${TEXT} NOT NULL,
    sequence bigint NOT NULL,
    status ${TEXT} NOT NULL,
    created_at ${TEXT} NOT NULL,
    queued_at ${TEXT} NOT NULL,
    attempts integer NOT NULL DEFAULT 0,
    first_attempt_at ${TEXT},
    next_attempt_at ${TEXT},
    last_status integer,
    last_error ${TEXT},
    finished_at ${TEXT},
    outbox bigint,
    log bigint,
    last_seq bigint,
    bytes bigint NOT NULL
  );
  CREATE INDEX deliveries_due ON deliveries (target, next_attempt_at) WHERE next_attempt_at IS NOT NULL;
  CREATE INDEX deliveries_lane ON deliveries (target, conversation_id, kind, n) WHERE status = 'pending';
  CREATE INDEX deliveries_status ON deliveries (status, n);
  CREATE INDEX deliveries_conversation ON deliveries (conversation_id);
  CREATE INDEX deliveries_outbox ON deliveries (outbox) WHERE outbox IS NOT NULL;
  CREATE INDEX deliveries_log ON deliveries (log) WHERE log IS NOT NULL AND status <> 'delivered';
  CREATE INDEX deliveries_waiting ON deliveries (target, queued_at, n) INCLUDE (bytes) WHERE status = 'pending';
  CREATE TABLE followed_logs (
    log bigint NOT NULL,
    target ${TEXT} NOT NULL,
    conversation_id ${TEXT} NOT NULL,
    seq bigint NOT NULL,
    last_seq bigint,
    PRIMARY KEY (log, target)
  );
  CREATE INDEX followed_logs_conversation ON followed_logs (target, conversation_id, log);
`

/** Triggers replace the version, so that no statement that changes a secret or settings can forget it. No version is used twice. */
const USERS = `
  CREATE TABLE users (
    user_name ${TEXT} PRIMARY KEY,
    state ${TEXT} NOT NULL,
    created_at ${TEXT} NOT NULL
  );
  CREATE TABLE keys (
    n ${NUMBERED},
    id ${TEXT} NOT NULL UNIQUE,
    user_name ${TEXT} NOT NULL,
    role ${TEXT} NOT NULL,
    hash ${TEXT} NOT NULL UNIQUE,
    label ${TEXT},
    created_at ${TEXT} NOT NULL,
    expires_at ${TEXT},
    revoked_at ${TEXT}
  );
  CREATE TABLE settings (
    user_name ${TEXT} PRIMARY KEY,
    json ${TEXT} NOT NULL
  );
  CREATE TABLE secrets (
    user_name ${TEXT} NOT NULL,
    name ${TEXT} NOT NULL,
    description ${TEXT},
    sealed ${TEXT} NOT NULL,
    created_at ${TEXT} NOT NULL,
    updated_at ${TEXT} NOT NULL,
    PRIMARY KEY (user_name, name)
  );
  CREATE TABLE documents (
    user_name ${TEXT} NOT NULL,
    collection ${TEXT} NOT NULL,
    name ${TEXT} NOT NULL,
    json ${TEXT} NOT NULL,
    created_at ${TEXT} NOT NULL,
    updated_at ${TEXT} NOT NULL,
    PRIMARY KEY (user_name, collection, name)
  );
  CREATE SEQUENCE secret_version_numbers;
  CREATE TABLE secret_versions (
    user_name ${TEXT} PRIMARY KEY,
    n bigint NOT NULL
  );
  CREATE FUNCTION replace_secret_version() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO parley.secret_versions (user_name, n)
    VALUES (coalesce(NEW.user_name, OLD.user_name), nextval('parley.secret_version_numbers'))
    ON CONFLICT (user_name) DO UPDATE SET n = excluded.n;
    RETURN NULL;
  END $$;
  CREATE TRIGGER secrets_changed AFTER INSERT OR UPDATE OR DELETE ON secrets
    FOR EACH ROW EXECUTE FUNCTION replace_secret_version();
  CREATE TRIGGER settings_changed AFTER INSERT OR UPDATE OR DELETE ON settings
    FOR EACH ROW EXECUTE FUNCTION replace_secret_version();
  CREATE TABLE usage (
    user_name ${TEXT} NOT NULL,
    period ${TEXT} NOT NULL,
    counter ${TEXT} NOT NULL,
    amount double precision NOT NULL,
    PRIMARY KEY (user_name, period, counter)
  );
  CREATE TABLE audit (
    n ${NUMBERED},
    at ${TEXT} NOT NULL,
    until ${TEXT},
    count bigint NOT NULL,
    user_name ${TEXT} NOT NULL,
    key_id ${TEXT} NOT NULL,
    action ${TEXT} NOT NULL,
    conversation_id ${TEXT},
    status integer NOT NULL,
    subject ${TEXT},
    detail ${TEXT}
  );
  CREATE INDEX audit_user ON audit (user_name, n);
  CREATE TABLE keyed_requests (
    n ${NUMBERED},
    user_name ${TEXT} NOT NULL,
    key ${TEXT} NOT NULL,
    digest ${TEXT} NOT NULL,
    begun_at ${TEXT} NOT NULL,
    state ${TEXT} NOT NULL,
    sealed ${TEXT},
    bytes bigint NOT NULL DEFAULT 0,
    UNIQUE (user_name, key)
  );
  CREATE INDEX keyed_requests_user ON keyed_requests (user_name, n) INCLUDE (bytes);
  CREATE TABLE bash_events (
    n ${NUMBERED},
    user_name ${TEXT} NOT NULL,
    id ${TEXT} NOT NULL,
    kind ${TEXT} NOT NULL,
    command_id ${TEXT},
    place integer,
    timestamp ${TEXT} NOT NULL,
    is_open boolean NOT NULL,
    is_unproven boolean NOT NULL DEFAULT false,
    bytes bigint NOT NULL,
    json ${TEXT} NOT NULL,
    UNIQUE (user_name, id)
  );
  CREATE INDEX bash_events_user ON bash_events (user_name, n) INCLUDE (bytes);
  CREATE INDEX bash_events_command ON bash_events (user_name, command_id, n);
  CREATE INDEX bash_events_open ON bash_events (n) WHERE is_open;
  CREATE TABLE seal_test (
    one integer PRIMARY KEY CHECK (one = 1),
    sealed ${TEXT} NOT NULL,
    salt ${TEXT}
  );
  CREATE TABLE nodes (
    n ${NUMBERED},
    started_at timestamptz NOT NULL DEFAULT now()
  );
  CREATE TABLE data_directory (
    one integer PRIMARY KEY CHECK (one = 1),
    ledger ${TEXT},
    mark bigint NOT NULL,
    next_mark bigint
  );
`

/** `term`: that of the sender of the target. `begun_term`: that of the sender of the last attempt. */
const WEBHOOK_TARGETS = `
  CREATE TABLE webhook_targets (
    name ${TEXT} PRIMARY KEY,
    wants_events boolean NOT NULL,
    options ${TEXT} NOT NULL,
    sealed ${TEXT} NOT NULL,
    origin ${TEXT} NOT NULL,
    version bigint NOT NULL,
    term bigint NOT NULL DEFAULT 0,
    updated_at ${TEXT} NOT NULL,
    removed_at ${TEXT}
  );
  ALTER TABLE deliveries ADD COLUMN begun_term bigint NOT NULL DEFAULT 0;
`

/**
 * Several nodes. What belongs to one data directory has its `place`: the call ledger and its mark, directories and commands of the machine.
 * `taken_from`: the node that a conversation was claimed from.
 */
const NODES = `
  ALTER TABLE conversations
    ADD COLUMN root ${TEXT}, ADD COLUMN place ${TEXT}, ADD COLUMN wants_owner boolean NOT NULL DEFAULT false, ADD COLUMN taken_from bigint;
  UPDATE conversations SET wants_owner = true WHERE status = 'running';
  CREATE INDEX conversations_wanting ON conversations (node, id) WHERE wants_owner;
  CREATE INDEX conversations_root ON conversations (root) WHERE root IS NOT NULL;
  DROP INDEX conversations_running;
  ALTER TABLE nodes
    ADD COLUMN url ${TEXT} NOT NULL DEFAULT '', ADD COLUMN version ${TEXT} NOT NULL DEFAULT '',
    ADD COLUMN places text[] COLLATE "C" NOT NULL DEFAULT '{}', ADD COLUMN draining_at timestamptz;
  ALTER TABLE bash_events ADD COLUMN place_id ${TEXT} NOT NULL DEFAULT '';
  ALTER TABLE owed_releases ADD COLUMN place ${TEXT} NOT NULL DEFAULT '';
  ALTER TABLE made_workspaces ADD COLUMN place ${TEXT} NOT NULL DEFAULT '', DROP CONSTRAINT made_workspaces_pkey, ADD PRIMARY KEY (place, root_digest);
  ALTER TABLE data_directory ADD COLUMN place ${TEXT} NOT NULL DEFAULT '', ALTER COLUMN one SET DEFAULT 1,
    DROP CONSTRAINT data_directory_pkey, ADD PRIMARY KEY (place);
`

/** `identity`: of the database when a server last started on it; another one after a restore. `sender`: the node that leads the target. */
const IDENTITY = `
  ALTER TABLE cluster ADD COLUMN identity ${TEXT};
  ALTER TABLE webhook_targets ADD COLUMN sender bigint;
`

/** `node`: the one that sends the callback; null: none yet. `is_open`: the end of the run is not known, which earlier versions wrote in the JSON. */
const CALLBACKS_OF_NODES = `
  ALTER TABLE callbacks ADD COLUMN node bigint, ADD COLUMN is_open boolean NOT NULL DEFAULT false;
  UPDATE callbacks SET is_open = true WHERE strpos(json, '"callback":null') > 0;
  CREATE INDEX callbacks_open ON callbacks (conversation_id) WHERE is_open;
`

/** Logins of browsers, and the codes that open them. */
const LOGINS = `
  CREATE TABLE login_sessions (
    id ${TEXT} PRIMARY KEY,
    user_name ${TEXT} NOT NULL,
    hash ${TEXT} NOT NULL UNIQUE,
    key_hash ${TEXT} NOT NULL,
    label ${TEXT},
    created_at ${TEXT} NOT NULL,
    last_used_at ${TEXT} NOT NULL,
    expires_at ${TEXT} NOT NULL
  );
  CREATE INDEX login_sessions_user ON login_sessions (user_name, key_hash);
  CREATE TABLE login_codes (
    hash ${TEXT} PRIMARY KEY,
    user_name ${TEXT} NOT NULL,
    key_hash ${TEXT} NOT NULL,
    created_at ${TEXT} NOT NULL,
    expires_at ${TEXT} NOT NULL
  );
  CREATE INDEX login_codes_user ON login_codes (user_name, key_hash);
`

/** What an outline shows of an event; null in rows of earlier versions until one is asked for. `text` is kept of all kinds from here on. */
const OUTLINE = `
  ALTER TABLE events ADD COLUMN parent_seq bigint, ADD COLUMN refers_seq bigint, ADD COLUMN tool ${TEXT}, ADD COLUMN flags integer;
`

/** Which conversations of a user have changed, in their order. */
const FEEDS = `
  CREATE TABLE feeds (
    user_name ${TEXT} PRIMARY KEY,
    n bigint NOT NULL
  );
  CREATE TABLE feed_changes (
    user_name ${TEXT} NOT NULL,
    n bigint NOT NULL,
    conversation_id ${TEXT} NOT NULL,
    PRIMARY KEY (user_name, n)
  );
`

const WAITING = `
  ALTER TABLE webhook_targets ADD COLUMN wants_waiting boolean NOT NULL DEFAULT false;
`

/** The steps, oldest first. */
export const MIGRATIONS: readonly string[] = [
  CONVERSATIONS + EVENTS + DELIVERIES + USERS,
  WEBHOOK_TARGETS,
  NODES,
  IDENTITY,
  CALLBACKS_OF_NODES,
  OUTLINE,
  LOGINS,
  FEEDS,
  WAITING,
]
