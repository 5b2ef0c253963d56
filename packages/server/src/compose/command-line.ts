/** Audit records of changes that are made in the data directory itself, with no key. */
import type { AuditStore } from '../storage/index.ts'

/** Records a change by anyone who may write the store. `subject`: the user that it is about. */
export async function auditCommand(
  audit: Pick<AuditStore, 'write'>,
  { action, subject, detail }: { action: string; subject: string; detail: string | null },
): Promise<void> {
  const entry = {
    at: new Date().toISOString(),
    until: null,
    count: 1,
    user: '',
    key_id: 'command line',
    action,
    conversation_id: null,
    status: 200,
    subject,
    detail,
  }
  await audit.write([entry], [])
}
