/** How a person knows the key that gave an answer. */
import type { KeyInfo } from '@parley/protocol'
import { useQuery } from '@tanstack/react-query'
import { useMe } from '../api/me.ts'
import { get } from '../api/queries.ts'
import { dock as words } from '../words/dock.en.ts'

/**
 * The words for the key with the id `keyId`; empty for an empty id and while they are not known. Only administrators may read the labels
 * of other keys.
 */
export function useActorName(keyId: string): string {
  const me = useMe().data
  const isOwn = me !== undefined && (me.key === null || me.key.id === keyId)
  const mayRead = me?.role === 'admin'
  const keys = useQuery({
    queryKey: ['keys'],
    queryFn: ({ signal }) => get<{ items: KeyInfo[] }>('/api/keys', signal),
    enabled: mayRead && !isOwn && keyId !== '',
  })
  if (me === undefined || keyId === '') return ''
  if (isOwn) return words.byYou
  if (mayRead && keys.isPending) return ''
  const label = keys.data?.items.find(({ id }) => id === keyId)?.label
  return label == null || label === '' ? words.byAnotherKey(me.user) : words.byKey(label)
}
