/** The list of agent profiles, with what can be done with each. */
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { AGENTS_KEY, deleteAgent, makeDefault } from '../../api/agents.ts'
import { messageOf } from '../../api/errors.ts'
import { useAgentProfiles, useModelProfiles } from '../../api/queries.ts'
import { Button } from '../../ui/button.tsx'
import { Ellipsis, Pencil } from '../../ui/icons.ts'
import { Listing } from '../../ui/listing.tsx'
import { Menu } from '../../ui/menu.tsx'
import { agents as words } from '../../words/agent-profiles.en.ts'
import './items.css'
import { RemoveDialog } from './remove-dialog.tsx'
import { DEFAULT_MODEL } from './agent-fields.tsx'
import { takeNote } from './note.ts'

type Profile = NonNullable<ReturnType<typeof useAgentProfiles>['data']>['profiles'][number]
type ListProps = {
  readonly canWrite: boolean
  readonly onEdit: (name: string) => void
  readonly onCopy: (name: string) => void
}

export function AgentList({ canWrite, onEdit, onCopy }: ListProps) {
  const client = useQueryClient()
  const list = useAgentProfiles()
  const models = useModelProfiles().data?.profiles
  const [removing, setRemoving] = useState<string | null>(null)
  const [note, setNote] = useState(takeNote)
  const active = list.data?.active_agent_profile_id ?? list.data?.profiles[0]?.id
  const changed = (text: string): void => {
    setRemoving(null)
    setNote({ text, isProblem: false })
    void client.invalidateQueries({ queryKey: AGENTS_KEY })
  }
  const choose = ({ id, name }: Profile): void =>
    void makeDefault(id).then(
      () => changed(words.isNowDefault(name)),
      (error: unknown) => setNote({ text: messageOf(error), isProblem: true }),
    )
  const remove = async (name: string): Promise<void> => {
    await deleteAgent(name)
    changed(words.removed(name))
  }
  const textOf = ({ agent_kind, llm_profile_ref: ref }: Profile): string => {
    if (agent_kind === 'acp') return words.addKinds.acp
    const model = models?.find(({ name }) => name === ref)?.model ?? null
    if (model !== null) return `${ref} · ${model}`
    return ref === null || ref === DEFAULT_MODEL ? words.settingsModel : ref
  }
  return (
    <>
      <p className={note.isProblem ? 'items-note problem' : 'items-note'} role="status">
        {note.text}
      </p>
      <Listing items={list.data?.profiles} error={list.error} onRetry={() => void list.refetch()} empty={null}>
        {(items) => (
          <ul className="items" aria-label={words.list}>
            {items.map((profile) => (
              <li key={profile.id}>
                <div className="item-text">
                  <div className="item-title">
                    <strong>{profile.name}</strong>
                    {profile.id === active && <span className="item-badge">{words.isDefault}</span>}
                  </div>
                  <span>{textOf(profile)}</span>
                </div>
                {canWrite && (
                  <div className="item-actions">
                    <Button
                      look="quiet"
                      size="small"
                      label={words.edit(profile.name)}
                      onClick={() => onEdit(profile.name)}
                    >
                      <Pencil size={15} aria-hidden />
                    </Button>
                    <Menu
                      label={words.more(profile.name)}
                      triggerLabel={words.more(profile.name)}
                      trigger={<Ellipsis size={15} aria-hidden />}
                      triggerClass="button button-quiet button-small button-icon"
                      groups={[
                        {
                          items: [
                            { label: words.duplicate, run: () => onCopy(profile.name) },
                            ...(profile.id === active
                              ? []
                              : [{ label: words.makeDefault, run: () => choose(profile) }]),
                            { label: words.remove, run: () => setRemoving(profile.name) },
                          ],
                        },
                      ]}
                    />
                  </div>
                )}
              </li>
            ))}
          </ul>
        )}
      </Listing>
      {removing !== null && (
        <RemoveDialog
          title={words.removeTitle(removing)}
          text={words.removeText}
          remove={() => remove(removing)}
          onClose={() => setRemoving(null)}
        />
      )}
    </>
  )
}
