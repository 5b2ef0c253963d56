/** The secrets of the user: their names and descriptions. A value is never shown. */
import { useState } from 'react'
import { useMe } from '../../api/me.ts'
import { type Secret, useSecrets } from '../../api/secrets.ts'
import { Button } from '../../ui/button.tsx'
import { Pencil, Trash } from '../../ui/icons.ts'
import { Listing } from '../../ui/listing.tsx'
import { secrets as words } from '../../words/secrets.en.ts'
import { SettingsFrame } from './frame.tsx'
import './items.css'
import { RemoveSecret } from './remove-secret.tsx'
import { SecretDialog } from './secret-dialog.tsx'

type Open = { kind: 'new' } | { kind: 'edit' | 'remove'; secret: Secret } | null

export function SecretsPage() {
  const canWrite = useMe().data?.role !== 'read-only'
  const list = useSecrets()
  const [open, setOpen] = useState<Open>(null)
  const [note, setNote] = useState('')
  const done = (text: string): void => {
    setOpen(null)
    setNote(text)
  }
  const close = (): void => setOpen(null)
  const add = canWrite && (
    <Button look="primary" onClick={() => setOpen({ kind: 'new' })}>
      {words.add}
    </Button>
  )
  return (
    <SettingsFrame of="secrets" lead={canWrite ? words.lead : words.readOnly} action={add}>
      <p className="items-note" role="status">
        {note}
      </p>
      <Listing
        items={list.data}
        error={list.error}
        onRetry={() => void list.refetch()}
        empty={
          <div className="items-empty">
            <p>{words.empty}</p>
            <p>{words.emptyText}</p>
          </div>
        }
      >
        {(items) => (
          <ul className="items" aria-label={words.list}>
            {items.map((secret) => (
              <li key={secret.name}>
                <div className="item-text">
                  <strong className="item-code">{secret.name}</strong>
                  <span>{secret.description || words.noDescription}</span>
                </div>
                {canWrite && (
                  <div className="item-actions">
                    <Button
                      look="quiet"
                      size="small"
                      label={words.editOf(secret.name)}
                      onClick={() => setOpen({ kind: 'edit', secret })}
                    >
                      <Pencil size={15} aria-hidden />
                    </Button>
                    <Button
                      look="quiet"
                      size="small"
                      label={words.removeOf(secret.name)}
                      onClick={() => setOpen({ kind: 'remove', secret })}
                    >
                      <Trash size={15} aria-hidden />
                    </Button>
                  </div>
                )}
              </li>
            ))}
          </ul>
        )}
      </Listing>
      {open?.kind === 'new' && <SecretDialog before={null} onClose={close} onDone={done} />}
      {open?.kind === 'edit' && <SecretDialog before={open.secret} onClose={close} onDone={done} />}
      {open?.kind === 'remove' && <RemoveSecret name={open.secret.name} onClose={close} onDone={done} />}
    </SettingsFrame>
  )
}
