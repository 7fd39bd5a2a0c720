// The words of the panels that look into a reply. The English ones are loaded with these panels.
import { computed } from '@preact/signals';
import { other } from '..';
import { en, type InspectingWords } from './en';

export const inspecting = computed<InspectingWords>(() => other.value?.inspecting ?? en);
